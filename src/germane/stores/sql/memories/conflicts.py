"""Contradiction rows: records, reads and resolves the conflicts between memories that a person decides."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from germane.errors import NotFound
from germane.kinds.memories.conflicts import Contradiction, ContradictionRecord
from germane.kinds.memories.directive import CurrentDirective, Directive, ListDirectives, SetDirective
from germane.kinds.memories.reads import (
    ConflictById,
    ConflictsBetween,
    OpenConflicts,
    PutConflict,
    RecordedConflicts,
    ResolveConflict,
    RestoreConflict,
)
from germane.kinds.memories.value import Memory
from germane.stores.sql.connection import Connection
from germane.stores.sql.kind import KindTable, SqlKind
from germane.stores.sql.links import put_link
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, visible_ids
from germane.stores.sql.memories.memory_rows import MEMORY, memory_of
from germane.stores.sql.reading import Answers, ReadTransaction, ScopeReading, StoreAnswers, nothing, of_own
from germane.stores.sql.statements import (
    LISTED,
    Row,
    first,
    from_sql,
    maybe_micros,
    maybe_moment,
    micros,
    moment,
    rows,
    to_json,
    to_sql,
)
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction, of_plan, to_own

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Thing

_CONFLICT = "SELECT id, reason, one, other, created_at, resolved_at, kept FROM links WHERE kind = 'conflict' AND partition = ?"
_RESTORE = "INSERT OR IGNORE INTO links VALUES (?, ?, 'conflict', ?, ?, ?, NULL, ?, ?, ?)"
_IDS_IN_USE = f"SELECT id FROM links WHERE id IN {LISTED}"
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
    taken = rows(transaction.connection, _IDS_IN_USE, (to_json(read.ids),))
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


def open_conflicts(connection: Connection, partition: VisiblePartition, at: datetime, limit: int) -> tuple[Contradiction, ...]:
    """Returns the partition's open conflicts, oldest first. Two texts that differ are no conflict any more when one of the
    memories has ended."""
    found = rows(connection, f"{_CONFLICT} AND resolved_at IS NULL ORDER BY created_at, id", (partition.id,))
    open_ones: list[Contradiction] = []
    while len(open_ones) < limit and (page := list(islice(found, _PAGE))):
        some = _conflicts(connection, partition, page)
        open_ones += [one for one in some if one.reason in _FACTS or (one.older.holds(at) and one.newer.holds(at))]
    return tuple(open_ones[:limit])


def _conflicts(connection: Connection, partition: VisiblePartition, found: list[Row]) -> list[Contradiction]:
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


def resolve_conflict(connection: Connection, partition: int, change: ResolveConflict) -> None:
    sql = "UPDATE links SET resolved_at = ?, kept = ? WHERE id = ? AND partition = ? AND kind = 'conflict'"
    connection.execute(sql, (micros(change.at), change.kept, change.id, partition))
    if not connection.changes():
        raise NotFound("no conflict {} here", change.id)


def _memories(connection: Connection, partition: VisiblePartition, keys: Iterable[int]) -> dict[int, Memory]:
    sql = f"{MEMORY} WHERE +partition = ? AND key IN {LISTED}"
    found = rows(connection, sql, (partition.id, to_json(sorted(keys))))
    return {row[0]: memory_of(row, {partition.id: partition.user}) for row in found}


CONFLICT_READS: Answers = {
    OpenConflicts: of_own(lambda connection, own, read: open_conflicts(connection, own, read.at, read.limit), tuple),
    ConflictById: of_plan(conflict_by_id, nothing),
    ConflictsBetween: of_plan(conflicts_between, RecordedConflicts),
}
CONFLICT_CHANGES: Appliers = {
    PutConflict: to_own(put_conflict),
    RestoreConflict: to_own(restore_conflict),
    ResolveConflict: lambda to, change: resolve_conflict(to.connection, to.own_id(), change),
}


# Directives: reads and writes the standing instructions of agents and of their users.


_NOW = "SELECT d.text FROM partitions p JOIN directives d ON d.partition = p.id WHERE p.org = ? AND p.agent = ? AND p.user = ?"
_ALL = (
    "SELECT p.org, p.agent, p.user, d.text FROM directives d JOIN partitions p ON p.id = d.partition"
    " ORDER BY p.user <> '', d.revision DESC LIMIT ?"
)


def set_directive(transaction: Transaction, partition: int, text: str, id: str = "") -> None:
    """Replaces the partition's directive, or removes it where `text` is empty; the old text is erased. A directive that
    replaces another one keeps its id, unless it comes with one from an export."""
    connection = transaction.connection
    had = first(connection, "SELECT id FROM directives WHERE partition = ?", (partition,))
    connection.execute("DELETE FROM directives WHERE partition = ?", (partition,))
    if text:
        named = id or (secrets.token_hex(16) if had is None else had[0])
        connection.execute("INSERT INTO directives VALUES (?, ?, ?, ?)", (partition, to_sql(text), transaction.revision, named))
    if had is None:
        transaction.touch((partition,), replaced=True)
    else:
        transaction.erase(partition, replaced=True)


def directive_now(connection: Connection, org: str, agent: str, user: str | None) -> str:
    """Returns the directive of exactly this partition, '' for none; cheap enough for thousands of calls."""
    found = first(connection, _NOW, (org, agent, user or ""))
    return "" if found is None else from_sql(found[0])


def _listed(reading: ReadTransaction, read: ListDirectives) -> list[tuple[str, str, str | None, str]]:
    found = rows(reading.connection, _ALL, (read.limit,))
    return [(org, agent, user or None, from_sql(text)) for org, agent, user, text in found]


def _current(reading: ScopeReading, _: CurrentDirective) -> Directive:
    sql = f"SELECT partition, text FROM directives WHERE partition IN {IN_VISIBLE}"
    visible, scope = reading.visible, reading.scope
    found: dict[int, str | bytes] = dict(rows(reading.connection, sql, visible_ids(visible)))
    texts = {partition.user: from_sql(found[partition.id]) for partition in visible if partition.id in found}
    return Directive(texts.get(None, ""), "" if scope.user is None else texts.get(scope.user, ""))


DIRECTIVE_READS: Answers = {CurrentDirective: _current}


def _set(writing: ScopeWriting, change: SetDirective) -> None:
    if change.text or writing.own is not None:  # removing nothing creates no partition
        set_directive(writing.transaction, writing.own_id(), change.text, change.id)


DIRECTIVE_CHANGES: Appliers = {SetDirective: _set}
DIRECTIVE_STORE_READS: StoreAnswers = {ListDirectives: _listed}


def _dump(connection: Connection, partition: int, _: Owner) -> Iterator[Thing]:
    from germane.transfer.contents import StoredDirective

    for text, id in rows(connection, "SELECT text, id FROM directives WHERE partition = ?", (partition,)):
        yield StoredDirective(from_sql(text), id)


DIRECTIVE_KIND = SqlKind(
    tables=(KindTable("directives", "directive", keeps="owner", cleared=True, exported="directives"),), dump=_dump
)
