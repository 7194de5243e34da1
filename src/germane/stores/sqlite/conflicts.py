"""Contradiction rows: records, reads and resolves the conflicts between memories that a person decides."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

import apsw

from germane.errors import NotFound
from germane.memories.link import Contradiction
from germane.memories.memory import Memory
from germane.memories.operations import ConflictById, PutConflict, ResolveConflict
from germane.stores.sqlite.encoding import maybe_moment, micros, moment, to_json
from germane.stores.sqlite.links import put_link
from germane.stores.sqlite.memories import MEMORY, memory_of
from germane.stores.sqlite.rows import Row, first, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["conflict_by_id", "open_conflicts", "put_conflict", "resolve_conflict"]

_CONFLICT = "SELECT id, reason, one, other, created_at, resolved_at, kept FROM links WHERE kind = 'conflict' AND partition = ?"
_FACTS = ("same_time", "pinned")
"""The reasons of conflicts between values of a fact, of which one has always ended."""
_PAGE = 200


def put_conflict(transaction: Transaction, partition: int, change: PutConflict) -> None:
    sql = "SELECT key FROM memories WHERE id = ? AND partition = ?"
    found = [first(transaction.connection, sql, (id, partition)) for id in (change.older, change.newer)]
    if found[0] is None or found[1] is None:
        raise NotFound("a conflict is between two stored memories of this scope's own")
    now = micros(change.at)
    put_link(transaction.connection, partition, "conflict", found[0][0], found[1][0], reason=change.reason, now=now)


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
    sql = f"{MEMORY} WHERE +partition = ? AND key IN (SELECT value FROM json_each(?))"
    found = rows(connection, sql, (partition.id, to_json(sorted(keys))))
    return {row[0]: memory_of(row, {partition.id: partition.user}) for row in found}
