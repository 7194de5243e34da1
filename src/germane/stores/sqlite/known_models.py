"""Known models: the dimensions of the embedders that a store has vectors of, read without opening the store."""

from __future__ import annotations

from pathlib import Path

import apsw

from germane.stores.sqlite.database import Database
from germane.stores.sqlite.rows import first

__all__ = ["known_dimension"]


def known_dimension(path: str | Path, family: str) -> int | None:
    """Returns the dimension of the latest model in the store at `path` whose identity is `family` and its dimension; None
    without one, and where there is no readable store."""
    if str(path) == ":memory:" or not Path(path).is_file():
        return None
    try:
        connection = Database.at(path).connect(reading=True)
        try:
            sql = "SELECT dimension FROM models WHERE identity = ? || '/' || dimension ORDER BY id DESC LIMIT 1"
            found = first(connection, sql, (family,))
        finally:
            connection.close()
    except apsw.Error:
        return None
    return None if found is None else int(found[0])
