"""Reader: reads, lists and searches the memories of one scope, and tells the bytes that they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.memories.conflicts import Contradiction
from germane.kinds.memories.reads import DropVectors, Page
from germane.kinds.memories.value import Memory, SizedMemory
from germane.stores.sql.connection import Connection
from germane.stores.sql.links import with_near_duplicates
from germane.stores.sql.listing import IN_VISIBLE, SECRET, Listing, VisiblePartition, in_clause, merge_rows, owners, visible_ids
from germane.stores.sql.memories.conflicts import open_conflicts
from germane.stores.sql.memories.memory_rows import MEMORY, memory_of
from germane.stores.sql.reading import Readers, Reading
from germane.stores.sql.search.partitions import Searcher
from germane.stores.sql.statements import LISTED, Row, only, rows, to_json, to_sql
from germane.stores.sql.transaction import Transaction
from germane.stores.sql.where_clauses import BY_KEY, excluded, for_memories, impossible, tagged
from germane.types.evidence import Found
from germane.types.query import Filters, Query
from germane.types.scope import Scope

_CHAIN = (
    "WITH RECURSIVE chain(id) AS (VALUES (?) UNION"
    " SELECT next.superseded_by FROM chain JOIN memories next ON next.id = chain.id"
    " WHERE next.superseded_by IS NOT NULL AND +next.partition IN {0} UNION"
    " SELECT previous.id FROM chain JOIN memories previous ON previous.superseded_by = chain.id"
    " WHERE +previous.partition IN {0})"
    " SELECT id FROM chain"
)
_KEY, _CREATED = 0, 17
"""Columns of the rows of `MEMORY`."""


class SqlMemories:
    """Implements `germane.kinds.memories.reads.MemoryReader`."""

    def __init__(self, scope: Scope, readers: Readers, searcher: Searcher[Memory]) -> None:
        self._scope, self._readers, self._searcher = scope, readers, searcher

    async def get(self, ids: Sequence[str]) -> tuple[Memory, ...]:
        def work(reading: Reading) -> tuple[Memory, ...]:
            some = _select(reading, self._scope, f"id IN {LISTED}", [to_json(ids)])
            found = {memory.id: memory for memory in some}
            return tuple(found[id] for id in dict.fromkeys(ids) if id in found)

        return await self._readers.run(work)

    async def list(self, filters: Filters, *, at: datetime, limit: int, cursor: str | None = None) -> Page:
        if limit < 1:
            raise InvalidInput(f"limit must be 1 or more, not {limit}")
        return await self._readers.read_batched(lambda reading: _page(reading, self._scope, filters, at, limit, cursor))

    async def pinned(self, keys: Sequence[str], tags: Sequence[str], *, at: datetime, filters: Filters) -> tuple[Memory, ...]:
        return await self._readers.read_batched(lambda reading: _pinned(reading, self._scope, keys, tags, at, filters))

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[Memory]:
        return await self._searcher.search(self._scope, query, limit, keywords=keywords, vectors=vectors, wait=wait)

    async def conflicts(self, *, at: datetime, limit: int) -> tuple[Contradiction, ...]:
        def work(reading: Reading) -> tuple[Contradiction, ...]:
            own = [one for one in reading.visible(self._scope) if one.user == self._scope.user]
            return open_conflicts(reading.connection, own[0], at, limit) if own else ()

        return await self._readers.run(work)

    async def stored(self, *, after: int, limit: int) -> tuple[SizedMemory, ...]:
        def work(reading: Reading) -> tuple[SizedMemory, ...]:
            own = [one for one in reading.visible(self._scope) if one.user == self._scope.user]
            return sized_memories(reading.connection, own[0], after, limit) if own else ()

        return await self._readers.run(work)

    async def history(self, id: str) -> tuple[Memory, ...]:
        def work(reading: Reading) -> tuple[Memory, ...]:
            here = in_clause(reading.visible(self._scope))
            chain = [row[0] for row in rows(reading.connection, _CHAIN.format(here), (id,))]
            clause = f"id IN {LISTED} ORDER BY valid_from, created_at, key"
            return tuple(_select(reading, self._scope, clause, [to_json(chain)]))

        return await self._readers.run(work)


def _select(reading: Reading, scope: Scope, clause: str, values: list[Any]) -> list[Memory]:
    visible = reading.visible(scope)
    found = rows(reading.connection, f"{MEMORY} WHERE +partition IN {in_clause(visible)} AND {clause}", values)
    users = owners(visible)
    memories = {row[0]: memory_of(row, users) for row in found}
    return list(with_near_duplicates(reading.connection, memories).values())


def _page(reading: Reading, scope: Scope, filters: Filters, at: datetime, limit: int, cursor: str | None) -> Page:
    listing = Listing(only(reading.connection, SECRET)[0], scope, filters)
    after = None if cursor is None else listing.position(cursor)
    if impossible(filters, "memories"):
        return Page(memories=())
    visible = reading.visible(scope)

    def newest(partition: VisiblePartition) -> Iterator[Row]:
        clause, values = for_memories((partition,), filters, at)
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


def _pinned(
    reading: Reading, scope: Scope, keys: Sequence[str], tags: Sequence[str], at: datetime, filters: Filters
) -> tuple[Memory, ...]:
    if impossible(filters, "memories"):
        return ()
    visible = reading.visible(scope)
    clause, values = for_memories(visible, filters, at)
    users = owners(visible)
    found: dict[int, Memory] = {}

    def add(more: str, bound: list[Any], how: str = "") -> None:
        for row in rows(reading.connection, f"{MEMORY}{how} WHERE {clause} AND {more}", [*values, *bound]):
            memory = memory_of(row, users)
            if not excluded(memory, filters):
                found.setdefault(row[0], memory)

    add("pinned ORDER BY created_at DESC, key DESC", [])
    for key in keys:
        add("fact_key = ? ORDER BY valid_from DESC, key DESC LIMIT 1", [to_sql(key)])
    if tags:
        add(f"key IN ({tagged(visible)}) ORDER BY created_at DESC, key DESC", [to_json(tags)], BY_KEY)
    return tuple(with_near_duplicates(reading.connection, found).values())


def fetch_memories(
    reading: Reading,
    visible: tuple[VisiblePartition, ...],
    places: Mapping[int, tuple[int, int]],
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
