"""Rows: queries with typed results: all rows, the first row, or the only row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

__all__ = ["Row", "first", "only", "rows"]

Row = tuple[Any, ...]


def rows(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
    """Returns an iterator over all rows."""
    return connection.execute(sql, values)


def first(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """Returns the first row, or None."""
    return connection.execute(sql, values).fetchone()


def only(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Row:
    """Returns the row of a query that always has one, such as a count."""
    found = first(connection, sql, values)
    assert found is not None
    return found
