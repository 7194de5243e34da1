"""Rows: asking SQLite and getting tuples, with the types that apsw can't know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

__all__ = ["Row", "first", "only", "rows"]

Row = tuple[Any, ...]


def rows(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
    """All of them, one at a time."""
    return connection.execute(sql, values)


def first(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """The first one, if there is any."""
    return connection.execute(sql, values).fetchone()


def only(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Row:
    """The one that is always there, such as a count."""
    found = first(connection, sql, values)
    assert found is not None
    return found
