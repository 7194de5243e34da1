"""Contradiction rows: records, reads and resolves the conflicts between memories that a person decides."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

import apsw

from germane.errors import NotFound
from germane.memories.link import Contradiction, ContradictionRecord
from germane.memories.memory import Memory
from germane.memories.operations import (
    ConflictById,
    ConflictsBetween,
    PutConflict,
    RecordedConflicts,
    ResolveConflict,
    RestoreConflict,
)
from germane.stores.sqlite.encoding import LISTED, maybe_micros, maybe_moment, micros, moment, to_json
from germane.stores.sqlite.links import put_link
from germane.stores.sqlite.memories import MEMORY, memory_of
from germane.stores.sqlite.rows import Row, first, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = [
    "conflict_by_id",
    "conflict_record",
    "conflicts_between",
    "open_conflicts",
    "put_conflict",
    "resolve_conflict",
    "restore_conflict",
]

_CONFLICT = "SELECT id, reason, one, other, created_at, resolved_at, kept FROM links WHERE kind = 'conflict' AND partition = ?"
_RESTORE = "INSERT OR IGNORE INTO links VALUES (?, ?, 'conflict', ?, ?, ?, NULL, ?, ?, ?)"
_TAKEN = f"SELECT id FROM links WHERE id IN {LISTED}"
_PAIRS = (
    "SELECT one.id, other.id FROM json_each(?) j CROSS JOIN memories one ON one.id = j.value"
    " CROSS JOIN links l ON l.one = one.key AND l.kind = 'conflict' CROSS JOIN memories other ON other.key = l.other"
    " WHERE l.partition = ?"
)
_FACTS = ("same_time", "pinned")
"""The reasons of conflicts between values of a fact, of which one has always ended."""
_PAGE = 200


def put_conflict(transaction: Transaction, partition: int, change: PutConflict) -> None:
    older, newer = _keys(transaction, partition, change.older, change.newer)
    put_link(transaction.connection, partition, "conflict", older, newer, reason=change.reason, now=micros(change.at))


def restore_conflict(transaction: Transaction, partition: int, change: RestoreConflict) -> None:
    record = change.record
    older, newer = _keys(transaction, partition, record.older, record.newer)
    values = (record.id, partition, older, newer, record.reason, micros(record.created_at))
    transaction.connection.execute(_RESTORE, (*values, maybe_micros(record.resolved_at), record.kept))


def conflicts_between(transaction: Transaction, partition: VisiblePartition, read: ConflictsBetween) -> RecordedConflicts:
    older = to_json(sorted({pair[0] for pair in read.pairs}))
    found = {(one, other) for one, other in rows(transaction.connection, _PAIRS, (older, partition.id))}
    taken = rows(transaction.connection, _TAKEN, (to_json(read.ids),))
    return RecordedConflicts(frozenset(found.intersection(read.pairs)), frozenset(id for (id,) in taken))


def conflict_record(row: Row) -> ContradictionRecord:
    """Reads a row of `id, reason, older's id, newer's id, created_at, resolved_at, kept`."""
    id, reason, older, newer, created, resolved, kept = row
    return ContradictionRecord(
        id=id,
        reason=reason,
        older=older,
        newer=newer,
        created_at=moment(created),
        resolved_at=maybe_moment(resolved),
        kept=kept,
    )


def _keys(transaction: Transaction, partition: int, older: str, newer: str) -> tuple[int, int]:
    sql = "SELECT key FROM memories WHERE id = ? AND partition = ?"
    found = [first(transaction.connection, sql, (id, partition)) for id in (older, newer)]
    if found[0] is None or found[1] is None:
        raise NotFound("a conflict is between two stored memories of this scope's own")
    return found[0][0], found[1][0]


def conflict_by_id(transaction: Transaction, partition: VisiblePartition, read: ConflictById) -> Contradiction | None:
    found = rows(transaction.connection, f"{_CONFLICT} AND id = ?", (partition.id, read.id))
    return next(iter(_conflicts(transaction.connection, partition, list(found))), None)


def open_conflicts(
    connection: apsw.Connection, partition: VisiblePartition, at: datetime, limit: int
) -> tuple[Contradiction, ...]:
    """Returns the partition's open conflicts, oldest first. Two texts that differ are no conflict any more when one of the
    memories has ended."""
    found = rows(connection, f"{_CONFLICT} AND resolved_at IS NULL ORDER BY created_at, id", (partition.id,))
    open_ones: list[Contradiction] = []
    while len(open_ones) < limit and (page := list(islice(found, _PAGE))):
        some = _conflicts(connection, partition, page)
        open_ones += [one for one in some if one.reason in _FACTS or (one.older.holds(at) and one.newer.holds(at))]
    return tuple(open_ones[:limit])


def _conflicts(connection: apsw.Connection, partition: VisiblePartition, found: list[Row]) -> list[Contradiction]:
    sides = _memories(connection, partition, {key for row in found for key in row[2:4]})
    return [
        Contradiction(
            id=id,
            reason=reason,
            older=sides[one],
            newer=sides[other],
            created_at=moment(created),
            resolved_at=maybe_moment(resolved),
            kept=kept,
        )
        for id, reason, one, other, created, resolved, kept in found
        if one in sides and other in sides
    ]


def resolve_conflict(connection: apsw.Connection, partition: int, change: ResolveConflict) -> None:
    sql = "UPDATE links SET resolved_at = ?, kept = ? WHERE id = ? AND partition = ? AND kind = 'conflict'"
    connection.execute(sql, (micros(change.at), change.kept, change.id, partition))
    if not connection.changes():
        raise NotFound(f"no conflict {change.id!r} here")


def _memories(connection: apsw.Connection, partition: VisiblePartition, keys: Iterable[int]) -> dict[int, Memory]:
    sql = f"{MEMORY} WHERE +partition = ? AND key IN {LISTED}"
    found = rows(connection, sql, (partition.id, to_json(sorted(keys))))
    return {row[0]: memory_of(row, {partition.id: partition.user}) for row in found}
