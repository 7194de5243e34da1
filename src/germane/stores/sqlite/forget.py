"""Forget: what a forgetting would take, and taking it: rows, search rows, vectors, the caller's own dict, the provenance. What
stays is a tombstone without content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from germane.memories.ledger import Forget, Select, Selection
from germane.stores.sqlite.encoding import micros, shown, stored
from germane.stores.sqlite.reach import Place, listed
from germane.stores.sqlite.rows import Row, first, rows
from germane.stores.sqlite.sessions import shrink
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.units import Domain, delete_units

__all__ = ["forget", "select"]

_TOMBSTONE = "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SPEAKER_LESS = "UPDATE speakers SET events = events - 1 WHERE partition = ? AND name = ?"


def select(connection: apsw.Connection, place: Place, read: Select) -> Selection:
    """All criteria given must hold; none given selects nothing."""
    given = [read.ids, read.key, read.tag, read.session, read.user]
    if not read.everything and all(one is None for one in given):
        return Selection()
    return Selection(memory_ids=_memories(connection, place, read), event_ids=_events(connection, place, read))


def forget(transaction: Transaction, places: tuple[Place, ...], change: Forget) -> None:
    """Remove those that lie in `places`; the others are left alone. Idempotent."""
    transaction.flush()
    _forget_memories(transaction, places, change)
    _forget_events(transaction, places, change)


def _memories(connection: apsw.Connection, place: Place, read: Select) -> tuple[str, ...]:
    where, values = ["partition = ?"], list[Any]([place.id])
    criteria: list[tuple[str, Any]] = [("fact_key = ?", read.key), ("session = ?", read.session)]
    criteria.append(("key IN (SELECT memory FROM memory_tags WHERE partition = memories.partition AND tag = ?)", read.tag))
    for clause, value in criteria:
        if value is not None:
            where.append(clause)
            values.append(stored(value))
    return _matching(connection, f"SELECT id, message_id FROM memories WHERE {' AND '.join(where)}", values, read.ids)


def _events(connection: apsw.Connection, place: Place, read: Select) -> tuple[str, ...]:
    if read.key is not None or read.tag is not None:
        return ()
    where, values = ["partition = ?"], list[Any]([place.id])
    if read.session is not None:
        where.append("session = (SELECT key FROM sessions WHERE partition = events.partition AND id = ?)")
        values.append(stored(read.session))
    return _matching(connection, f"SELECT id, message_id FROM events WHERE {' AND '.join(where)}", values, read.ids)


def _matching(connection: apsw.Connection, sql: str, values: list[Any], ids: tuple[str, ...] | None) -> tuple[str, ...]:
    """All rows, or those with one of `ids`; only what isn't an id of germane's is looked for among the caller's."""
    if ids is None:
        return tuple(id for id, _ in rows(connection, f"{sql} ORDER BY key", values))
    wanted = dict.fromkeys(map(stored, ids))
    found = [id for id in wanted if first(connection, f"{sql} AND id = ?", (*values, id))]
    rest = wanted.keys() - found
    if rest:
        named = rows(connection, f"{sql} AND message_id IS NOT NULL ORDER BY key", values)
        found += [id for id, message_id in named if message_id in rest]
    return tuple(map(shown, dict.fromkeys(found)))


def _forget_memories(transaction: Transaction, places: tuple[Place, ...], change: Forget) -> None:
    sql = "SELECT key, id, partition FROM memories WHERE id = ? AND partition IN " + listed(places)
    found = _found(transaction.connection, sql, change.memory_ids)
    keys = [(row[0],) for row in found]
    transaction.connection.executemany("DELETE FROM memory_tags WHERE memory = ?", keys)
    transaction.connection.executemany("DELETE FROM memories WHERE key = ?", keys)
    _bury(transaction, "memories", found, change)


def _forget_events(transaction: Transaction, places: tuple[Place, ...], change: Forget) -> None:
    connection = transaction.connection
    sql = "SELECT key, id, partition, session, name FROM events WHERE id = ? AND partition IN " + listed(places)
    found = _found(connection, sql, change.event_ids)
    connection.executemany("DELETE FROM events WHERE key = ?", [(row[0],) for row in found])
    connection.executemany(_SPEAKER_LESS, [(row[2], row[4]) for row in found if row[4]])
    connection.execute("DELETE FROM speakers WHERE events <= 0")
    shrink(connection, {row[3] for row in found})
    _bury(transaction, "events", found, change)


def _found(connection: apsw.Connection, sql: str, ids: Iterable[str]) -> list[Row]:
    found = (first(connection, sql, (id,)) for id in dict.fromkeys(ids))
    return [row for row in found if row is not None]


def _bury(transaction: Transaction, domain: Domain, found: Sequence[Row], change: Forget) -> None:
    if not found:
        return
    delete_units(transaction.connection, domain, [row[0] for row in found])
    said = (micros(change.at), stored(change.by), stored(change.reason))
    stones = [(row[1], domain, row[0], row[2], transaction.revision, *said) for row in found]
    transaction.connection.executemany(_TOMBSTONE, stones)
    transaction.touch({row[2] for row in found})
    transaction.erased = True
