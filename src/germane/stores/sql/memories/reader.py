"""Reader: reads and lists the memories of one scope, tells the bytes that they take; the tables of reads and changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.memories.reads import (
    CountFeedback,
    CountRetrievals,
    DerivedFrom,
    DropVectors,
    EndMemory,
    FactsOnKey,
    ListMemories,
    MemoriesByHash,
    MemoriesById,
    MemoriesWith,
    Page,
    PinnedMemories,
    PutMemory,
    SeenMemories,
    SizedMemories,
    VersionsOfMemory,
)
from germane.kinds.memories.value import Memory, SizedMemory
from germane.stores.sql.connection import Connection
from germane.stores.sql.links import with_near_duplicates
from germane.stores.sql.listing import IN_VISIBLE, SECRET, Listing, VisiblePartition, in_clause, merge_rows, owners, visible_ids
from germane.stores.sql.memories import memory_rows
from germane.stores.sql.memories.memory_rows import MEMORIES, MEMORY, memory_of
from germane.stores.sql.reading import Answers, Reading, ScopeReading, of_own
from germane.stores.sql.statements import LISTED, Row, only, rows, to_json, to_sql
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction, of_plan, to_own
from germane.stores.sql.where_clauses import BY_KEY, excluded, for_memories, impossible, tagged

_CHAIN = (
    "WITH RECURSIVE chain(id) AS (VALUES (?) UNION"
    " SELECT next.superseded_by FROM chain JOIN memories next ON next.id = chain.id"
    " WHERE next.superseded_by IS NOT NULL AND +next.partition IN {0} UNION"
    " SELECT previous.id FROM chain JOIN memories previous ON previous.superseded_by = chain.id"
    " WHERE +previous.partition IN {0})"
    " SELECT id FROM chain"
)
_KEY, _CREATED = MEMORIES.place("key"), MEMORIES.place("created_at")
"""Columns of the rows of `MEMORY`."""


def _seen(reading: ScopeReading, read: SeenMemories) -> tuple[Memory, ...]:
    found = {memory.id: memory for memory in _select(reading, f"id IN {LISTED}", [to_json(read.ids)])}
    return tuple(found[id] for id in dict.fromkeys(read.ids) if id in found)


def _versions(reading: ScopeReading, read: VersionsOfMemory) -> tuple[Memory, ...]:
    here = in_clause(reading.visible)
    chain = [row[0] for row in rows(reading.connection, _CHAIN.format(here), (read.id,))]
    return tuple(_select(reading, f"id IN {LISTED} ORDER BY valid_from, created_at, key", [to_json(chain)]))


def _select(reading: ScopeReading, clause: str, values: list[Any]) -> list[Memory]:
    visible = reading.visible
    found = rows(reading.connection, f"{MEMORY} WHERE +partition IN {in_clause(visible)} AND {clause}", values)
    users = owners(visible)
    memories = {row[0]: memory_of(row, users) for row in found}
    return list(with_near_duplicates(reading.connection, memories).values())


def _page(reading: ScopeReading, read: ListMemories) -> Page:
    filters, limit = read.filters, read.limit
    if limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {limit}")
    listing = Listing(only(reading.connection, SECRET)[0], reading.scope, filters)
    after = None if read.cursor is None else listing.position(read.cursor)
    if impossible(filters, "memories"):
        return Page(memories=())
    visible = reading.visible

    def newest(partition: VisiblePartition) -> Iterator[Row]:
        clause, values = for_memories((partition,), filters, read.at)
        if filters.session is None and filters.tags is None:  # the index by time; the others find few, which are sorted
            clause, values = f"partition = ? AND {clause}", [partition.id, *values]
        if after is not None:
            clause += " AND (created_at, key) < (?, ?)"
            values += after
        return rows(reading.connection, f"{MEMORY} WHERE {clause} ORDER BY created_at DESC, key DESC", values)

    users = owners(visible)
    memories: dict[int, Memory] = {}
    last: tuple[int, int] | None = None
    for row in merge_rows(visible, newest, lambda row: (row[_CREATED], row[_KEY]), descending=True):
        memory = memory_of(row, users)
        if excluded(memory, filters):
            continue
        if len(memories) == limit and last is not None:
            shown = with_near_duplicates(reading.connection, memories)
            return Page(memories=tuple(shown.values()), cursor=listing.cursor(*last))
        memories[row[0]] = memory
        last = (row[_CREATED], row[_KEY])
    return Page(memories=tuple(with_near_duplicates(reading.connection, memories).values()))


def _pinned(reading: ScopeReading, read: PinnedMemories) -> tuple[Memory, ...]:
    filters = read.filters
    if impossible(filters, "memories"):
        return ()
    visible = reading.visible
    clause, values = for_memories(visible, filters, read.at)
    users = owners(visible)
    found: dict[int, Memory] = {}

    def add(more: str, bound: list[Any], how: str = "") -> None:
        for row in rows(reading.connection, f"{MEMORY}{how} WHERE {clause} AND {more}", [*values, *bound]):
            memory = memory_of(row, users)
            if not excluded(memory, filters):
                found.setdefault(row[0], memory)

    add("pinned ORDER BY created_at DESC, key DESC", [])
    for key in read.keys:
        add("fact_key = ? ORDER BY valid_from DESC, key DESC LIMIT 1", [to_sql(key)])
    if read.tags:
        add(f"key IN ({tagged(visible)}) ORDER BY created_at DESC, key DESC", [to_json(read.tags)], BY_KEY)
    return tuple(with_near_duplicates(reading.connection, found).values())


def fetch_memories(
    reading: Reading,
    visible: tuple[VisiblePartition, ...],
    places: Mapping[int, tuple[int, int]],
    best: Collection[int],
) -> dict[int, Memory]:
    sql = f"{MEMORY} WHERE key IN {LISTED} AND +partition IN {IN_VISIBLE}"
    users = owners(visible)
    values = (to_json(list(places)), *visible_ids(visible))
    found = {row[0]: memory_of(row, users) for row in rows(reading.connection, sql, values)}
    return with_near_duplicates(reading.connection, found)


# Sizes: memories with the bytes that they take in the file, and the change of plans that drops their vectors.


_FIXED = 400
"""Bytes of a memory besides its texts, terms and vector: numbers, times, and its entries in the indexes; measured."""
_SIZES = (
    "SELECT m.key, octet_length(m.content) + octet_length(m.tags) + ifnull(octet_length(m.provenance), 0)"
    " + ifnull(octet_length(u.terms), 0), ifnull(octet_length(u.vector), 0)"
    f" FROM memories m LEFT JOIN units_memories u ON u.key = m.key WHERE m.key IN {LISTED}"
)


def sized_memories(connection: Connection, partition: VisiblePartition, after: int, limit: int) -> tuple[SizedMemory, ...]:
    sql = f"{MEMORY} WHERE +partition = ? AND key > ? ORDER BY key LIMIT ?"
    found = {
        row[0]: memory_of(row, {partition.id: partition.user}) for row in rows(connection, sql, (partition.id, after, limit))
    }
    found = with_near_duplicates(connection, found)
    sized = {key: (size, vector) for key, size, vector in rows(connection, _SIZES, (to_json(list(found)),))}
    return tuple(
        SizedMemory(memory=memory, bytes=_FIXED + sum(sized[key]), vector_bytes=sized[key][1], position=key)
        for key, memory in found.items()
    )


def drop_vectors(transaction: Transaction, partition: int, change: DropVectors) -> None:
    """An empty vector isn't a missing one, which would be made again."""
    transaction.flush()
    sql = "UPDATE units_memories SET vector = x'', revision = ? WHERE key IN"
    sql += f" (SELECT key FROM memories WHERE +partition = ? AND id IN {LISTED}) AND vector NOT NULL"
    transaction.connection.execute(sql, (transaction.revision, partition, to_json(list(change.ids))))
    transaction.touch((partition,))


def _put(writing: ScopeWriting, change: PutMemory) -> None:
    writing.check_owner(change.memory.user)
    memory_rows.put_memory(writing.transaction, writing.own_id(), change.memory, restored=change.restored)


def _count_feedback(writing: ScopeWriting, change: CountFeedback) -> None:
    own = writing.own
    memory_rows.count_feedback(writing.connection, () if own is None else (own,), change)


# The tables of the kind.


MEMORY_READS: Answers = {
    SeenMemories: _seen,
    ListMemories: _page,
    PinnedMemories: _pinned,
    SizedMemories: of_own(lambda connection, own, read: sized_memories(connection, own, read.after, read.limit), tuple),
    VersionsOfMemory: _versions,
    MemoriesById: lambda reading, read: memory_rows.by_id(reading.connection, reading.visible, read),
    MemoriesByHash: of_plan(memory_rows.by_hash, tuple),
    MemoriesWith: of_plan(memory_rows.memories_with, tuple),
    FactsOnKey: of_own(memory_rows.facts_on_key, tuple),
    DerivedFrom: of_plan(memory_rows.derived_from, tuple),
}
MEMORY_CHANGES: Appliers = {
    PutMemory: _put,
    EndMemory: to_own(memory_rows.end_memory),
    DropVectors: to_own(drop_vectors),
    CountFeedback: _count_feedback,
    CountRetrievals: lambda to, change: memory_rows.count_retrievals(to.connection, to.visible, change),
}
