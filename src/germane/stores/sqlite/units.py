"""Units: reads and writes the search rows (terms, vector, times), which are derived from each stored text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import apsw

from germane.search.unit import Unit

__all__ = ["Domain", "Pending", "changed", "delete_units", "dropped", "insert_units", "many"]

Domain = Literal["events", "memories"]
_INSERT = (
    "INSERT OR REPLACE INTO units_{} (partition, revision, model, vector, key, session, created_at, terms, flags, speaker,"
    " sensitivity, kind, valid_from, valid_to, words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CHANGED = (
    "SELECT key, session, created_at, terms, CASE WHEN model = ? THEN vector END, flags, speaker, sensitivity, kind,"
    " valid_from, valid_to, words FROM units_{} WHERE partition = ? AND revision > ?"
)


class Pending(NamedTuple):
    """A unit that waits to be written, with the text that its vector is made from."""

    domain: Domain
    partition: int
    unit: Unit
    text: str


def insert_units(
    connection: apsw.Connection, pending: Sequence[Pending], vectors: Sequence[bytes | None], *, revision: int, model: int
) -> None:
    for domain in ("events", "memories"):
        rows = [
            (entry.partition, revision, None if vector is None else model, vector, *entry.unit[:4], *entry.unit[5:])
            for entry, vector in zip(pending, vectors, strict=True)
            if entry.domain == domain
        ]
        if rows:
            connection.executemany(_INSERT.format(domain), rows)


def delete_units(connection: apsw.Connection, domain: Domain, keys: Iterable[int]) -> None:
    connection.executemany(f"DELETE FROM units_{domain} WHERE key = ?", [(key,) for key in keys])


def changed(connection: apsw.Connection, domain: Domain, partition: int, since: int, model: int) -> list[tuple[Any, ...]]:
    """Returns the rows of units newer than revision `since`, in the order of `Unit`'s fields; vectors of other models are
    None."""
    return connection.execute(_CHANGED.format(domain), (model, partition, since)).fetchall()


def dropped(connection: apsw.Connection, domain: Domain, partition: int, since: int) -> list[int]:
    """Returns the keys that were forgotten after revision `since`."""
    sql = "SELECT key FROM tombstones WHERE partition = ? AND what = ? AND revision > ?"
    return [key for (key,) in connection.execute(sql, (partition, domain, since))]


def many(connection: apsw.Connection, domain: Domain, partition: int, since: int, count: int) -> bool:
    """Whether more than `count` units changed after revision `since`."""
    sql = f"SELECT 1 FROM units_{domain} WHERE partition = ? AND revision > ? LIMIT 1 OFFSET ?"
    return connection.execute(sql, (partition, since, count)).fetchone() is not None
