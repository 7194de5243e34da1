"""Waiting memories: what a later message states as well waits behind the memory of the earlier one, superseded by it in the
moment in which it begins.

When the earlier one is forgotten because of its message, the first that waits takes its place: another message still says it.
When that memory itself is forgotten, what waits behind it goes too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import apsw

from germane.stores.sqlite.encoding import stored, to_json
from germane.stores.sqlite.rows import Row, rows
from germane.stores.sqlite.transaction import Transaction

__all__ = ["behind_named", "let_through"]

_BEHIND = (
    "memories w INDEXED BY memories_superseded ON w.superseded_by = m.id WHERE w.partition = m.partition"
    " AND w.content_hash = m.content_hash AND w.valid_to = w.valid_from"
)
_NAMED = (
    f"SELECT w.id FROM json_each(?1) s JOIN memories m ON m.id = s.value JOIN {_BEHIND}"
    " AND EXISTS (SELECT 1 FROM derivations d WHERE d.thing = m.id AND d.source NOT IN (SELECT value FROM json_each(?2)))"
)
_WAITING = f"SELECT w.key, w.id FROM memories m JOIN {_BEHIND} AND m.key = ? ORDER BY w.valid_from, w.key"
_PLACE = (
    "UPDATE memories SET (valid_to, superseded_by, pinned) ="
    " (SELECT valid_to, superseded_by, pinned FROM memories WHERE key = ?2) WHERE key = ?1"
)
_UNIT = (
    "UPDATE units_memories SET valid_to = (SELECT valid_to FROM units_memories WHERE key = ?2), revision = ?3 WHERE key = ?1"
)


def behind_named(connection: apsw.Connection, memories: Collection[str], gone: Iterable[str]) -> list[str]:
    """Returns the ids of what waits behind those of the memories that aren't forgotten for their sources: one of these stays.
    `gone` are the ids of all that is forgotten."""
    return [id for (id,) in rows(connection, _NAMED, (to_json(list(memories)), to_json(list(gone))))]


def let_through(transaction: Transaction, found: Iterable[Row], gone: Collection[str]) -> None:
    """Lets what waits behind these memories, rows of key, id and partition, take their places: until when they held, whether
    they are pinned, and their marks. Nothing of `gone` does. To be called before the memories are deleted."""
    connection = transaction.connection
    for key, id, partition in found:
        waiting = [row for row in rows(connection, _WAITING, (key,)) if row[1] not in gone]
        if not waiting:
            continue
        transaction.flush()
        (first, name), *others = waiting
        connection.execute(_PLACE, (first, key))
        connection.execute(_UNIT, (first, key, transaction.revision))
        connection.executemany("UPDATE memories SET superseded_by = ? WHERE key = ?", [(name, other) for other, _ in others])
        marks = "UPDATE profile_marks SET line = ?1, thing = ?1 WHERE thing = ?2 AND line = ?2"
        connection.execute(marks, (stored(name), stored(id)))
        transaction.touch((partition,))
