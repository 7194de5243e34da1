"""Memory rows: converts memories to rows and back, and runs the reads and changes of plans about memories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from math import inf

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput, NotFound
from germane.kinds.events.reads import SaidBefore, SaidLately
from germane.kinds.memories.reads import (
    CountFeedback,
    CountRetrievals,
    DerivedFrom,
    EndMemory,
    FactsOnKey,
    MemoriesByHash,
    MemoriesById,
    MemoriesWith,
)
from germane.kinds.memories.value import KINDS, Content, Fact, Memory
from germane.search.unit import TEMPORAL, USER, describe
from germane.stores.sql.columns import (
    FLAG,
    PROVENANCE,
    SENSITIVITY,
    TIME,
    TUPLE,
    Codec,
    Column,
    Derived,
    RowKey,
    RowOwner,
    Table,
)
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.totals import forget_things
from germane.stores.sql.injections import withdraw
from germane.stores.sql.links import delete_links, mark_restored
from germane.stores.sql.listing import VisiblePartition, in_clause, owners
from germane.stores.sql.search.units import delete_units
from germane.stores.sql.statements import (
    LISTED,
    Row,
    from_sql,
    maybe_micros,
    maybe_moment,
    maybe_to_sql,
    micros,
    moment,
    rows,
    to_json,
    to_sql,
)
from germane.stores.sql.transaction import Transaction

_TIMES = ("observed_at", "occurred_at")
"""Fields of contents that are times."""


def _written(content: Content, *, kind: str) -> str:
    values = {field.name: getattr(content, field.name) for field in fields(KINDS[kind])}
    return to_json({name: maybe_micros(value) if name in _TIMES else value for name, value in values.items()})


def _content(text: str, *, kind: str) -> Content:
    values = json.loads(text)
    for name in _TIMES:
        if name in values:
            values[name] = maybe_moment(values[name])
    try:
        return KINDS[kind](**values)
    except KeyError:
        raise InvalidInput("memory kind {} is unknown to this germane", kind) from None


def _fact_key(memory: Memory) -> str | bytes | None:
    return to_sql(memory.content.key) if isinstance(memory.content, Fact) else None


MEMORIES = Table(
    "memories",
    Memory,
    (
        RowKey(),
        Column("id", fixed=True),
        RowOwner(),
        Column("kind"),
        Column("content", Codec(_written, _content), beside=("kind",)),
        Derived("fact_key", _fact_key),
        Column("tags", TUPLE),
        Derived("session", lambda memory: maybe_to_sql(memory.provenance.session)),
        Derived("message_id", lambda memory: maybe_to_sql(memory.provenance.message_id)),
        Column("provenance", PROVENANCE),
        Column("sensitivity", SENSITIVITY),
        Column("confidence"),
        Column("pinned", FLAG),
        Column("helpful"),
        Column("harmful"),
        Column("retrieval_count"),
        Column("content_hash"),
        Column("created_at", TIME),
        Column("updated_at", TIME),
        Column("valid_from", TIME),
        Column("valid_to", TIME, null=True),
        Column("expires_at", TIME, null=True),
        Column("superseded_by", null=True),
        Column("derived_from", TUPLE),
        Column("stale_since", TIME, null=True),
    ),
    unstored=("secrets", "near_duplicates"),
)
memory_of: Callable[[Row, Mapping[int, str | None]], Memory] = MEMORIES.value
"""Returns the memory in a row of `MEMORY`; `users` maps partition ids to users."""
MEMORY = f"SELECT {MEMORIES.selected()} FROM memories"
"""The rows that `memory_of` takes."""
_INSERT = MEMORIES.insert()
_UPDATE = MEMORIES.update("key")
_END = "ifnull(valid_to, 9223372036854775807)"
"""When a memory ends; after every time where it doesn't. Two indexes have it."""
_DERIVED = (
    "WITH RECURSIVE derived(id) AS ("
    " SELECT d.thing FROM json_each(?1) s JOIN derivations d ON d.source = s.value WHERE d.partition = ?2 UNION"
    " SELECT d.thing FROM derived JOIN derivations d ON d.source = derived.id WHERE d.partition = ?2)"
    " SELECT m.key FROM derived CROSS JOIN memories m ON m.id = derived.id ORDER BY m.key"
)


def by_id(connection: Connection, visible: tuple[VisiblePartition, ...], read: MemoriesById) -> dict[str, Memory]:
    sql = f"{MEMORY} WHERE +partition IN {in_clause(visible)} AND id IN {LISTED}"
    users = owners(visible)
    found = [memory_of(row, users) for row in connection.execute(sql, (to_json(read.ids),))]
    return {memory.id: memory for memory in found}


def by_key(connection: Connection, partition: int, keys: Sequence[int]) -> dict[int, Memory]:
    """Returns memories of one partition by their keys, without their user."""
    sql = f"{MEMORY} WHERE +partition = ? AND key IN {LISTED}"
    return {row[0]: memory_of(row, {partition: None}) for row in connection.execute(sql, (partition, to_json(list(keys))))}


def by_hash(transaction: Transaction, partition: VisiblePartition, read: MemoriesByHash) -> tuple[Memory, ...]:
    sql = f"{MEMORY} INDEXED BY memories_hash WHERE partition = ? AND content_hash = ? AND {_END} > ? ORDER BY created_at, key"
    rows = transaction.connection.execute(sql, (partition.id, read.content_hash, micros(read.at)))
    return tuple(memory_of(row, {partition.id: partition.user}) for row in rows)


def facts_on_key(connection: Connection, partition: VisiblePartition, read: FactsOnKey) -> tuple[Memory, ...]:
    sql = f"{MEMORY} INDEXED BY memories_fact WHERE partition = ? AND fact_key = ? AND {_END} > ? ORDER BY valid_from, key"
    rows = connection.execute(sql, (partition.id, to_sql(read.key), micros(read.at)))
    return tuple(memory_of(row, {partition.id: partition.user}) for row in rows)


def derived_from(transaction: Transaction, partition: VisiblePartition, read: DerivedFrom) -> tuple[Memory, ...]:
    keys = derived_keys(transaction.connection, partition.id, read.ids)
    sql = f"{MEMORY} WHERE key IN {LISTED} ORDER BY created_at, key"
    rows = transaction.connection.execute(sql, (to_json(keys),))
    return tuple(memory_of(row, {partition.id: partition.user}) for row in rows)


def derived_keys(connection: Connection, partition: int, sources: Iterable[str]) -> list[int]:
    """Returns the keys of the partition's memories that derive from these ids, directly or through other memories."""
    return [key for (key,) in connection.execute(_DERIVED, (to_json(list(sources)), partition))]


def mark_stale(transaction: Transaction, partition: int, sources: Iterable[str], at: datetime) -> None:
    """Marks what derives from these ids as stale, unless it is already."""
    keys = derived_keys(transaction.connection, partition, sources)
    if keys:
        sql = "UPDATE memories SET stale_since = ? WHERE key = ? AND stale_since IS NULL"
        transaction.connection.executemany(sql, [(micros(at), key) for key in keys])
        transaction.touch((partition,))


def _refuse_circle(connection: Connection, partition: int, memory: Memory) -> None:
    """Raises `InvalidInput` where the memory would derive from itself, directly or through others."""
    if not memory.derived_from:
        return
    circle = memory.id in memory.derived_from
    if not circle and connection.execute("SELECT 1 FROM derivations WHERE source = ?", (memory.id,)).fetchone():
        derived = by_key(connection, partition, derived_keys(connection, partition, (memory.id,)))
        circle = any(one.id in memory.derived_from for one in derived.values())
    if circle:
        raise InvalidInput("memory {} can't derive from itself, also not through other memories", memory.id)


def put_memory(transaction: Transaction, partition: int, memory: Memory, *, restored: bool = False) -> None:
    """Inserts the memory, or replaces the partition's memory with its id; marks it where it is `restored`. Raises `NotFound`
    where another partition has this id."""
    connection = transaction.connection
    found = connection.execute("SELECT key, partition, content_hash FROM memories WHERE id = ?", (memory.id,)).fetchone()
    if found is not None and found[1] != partition:
        raise NotFound("no memory {} of this scope's own", memory.id)
    _refuse_circle(connection, partition, memory)
    (key,) = line = transaction.keys("memories", 1)
    if found is None:
        connection.execute(_INSERT, MEMORIES.cells(memory, key, partition))
    else:
        key = found[0]
        transaction.flush()
        connection.execute(_UPDATE, MEMORIES.cells(memory, key, partition))
        connection.execute("DELETE FROM memory_tags WHERE memory = ?", (key,))
        delete_units(connection, "memories", (key,))
        if found[2] != memory.content_hash:
            delete_links(connection, (key,))
            forget_things(transaction, partition, "memories", (key,))
            mark_stale(transaction, partition, (memory.id,), memory.updated_at)
        withdraw(transaction, (memory.id,), changed=True)
        transaction.erase(partition)  # the old text must be scrubbed from the files too
    if restored:
        mark_restored(connection, partition, key, micros(memory.updated_at))
    tags = [(partition, to_sql(tag), key) for tag in dict.fromkeys(memory.tags)]
    connection.executemany("INSERT INTO memory_tags VALUES (?, ?, ?)", tags)
    ends = [end.timestamp() for end in (memory.valid_to, memory.expires_at) if end is not None]
    unit = describe(
        key=key,
        session=line[0],  # a session of its own each time: a memory has no neighbours, its former text included
        created_at=memory.created_at.timestamp(),
        text="\n".join((memory.text, *memory.tags)),
        role="",
        name="",
        sensitivity=memory.sensitivity,
        kind=memory.kind,
        valid_from=memory.valid_from.timestamp(),
        valid_to=min(ends, default=inf),
    )
    transaction.derive("memories", partition, [(unit, memory.text)])
    transaction.touch((partition,))


def end_memory(transaction: Transaction, partition: int, change: EndMemory) -> None:
    connection = transaction.connection
    found = connection.execute(
        "SELECT key, expires_at FROM memories WHERE id = ? AND partition = ?", (change.id, partition)
    ).fetchone()
    if found is None:
        raise NotFound("no memory {} of this scope's own", change.id)
    key, expires = found
    transaction.flush()
    ends = micros(change.at)
    sql = "UPDATE memories SET valid_to = ?, superseded_by = coalesce(?, superseded_by) WHERE key = ?"
    connection.execute(sql, (ends, change.superseded_by, key))
    mark_stale(transaction, partition, (change.id,), change.at)
    last = min(ends, expires if expires is not None else ends)
    sql = "UPDATE units_memories SET valid_to = ?, revision = ? WHERE key = ?"
    connection.execute(sql, (moment(last).timestamp(), transaction.revision, key))
    transaction.touch((partition,))


def count_feedback(connection: Connection, visible: tuple[VisiblePartition, ...], change: CountFeedback) -> None:
    column = "helpful" if change.helpful else "harmful"
    _count(connection, visible, column, change.ids)


def count_retrievals(connection: Connection, visible: tuple[VisiblePartition, ...], change: CountRetrievals) -> None:
    _count(connection, visible, "retrieval_count", change.ids)


def _count(connection: Connection, visible: tuple[VisiblePartition, ...], column: str, ids: tuple[str, ...]) -> None:
    sql = f"UPDATE memories SET {column} = {column} + 1 WHERE id = ? AND partition IN {in_clause(visible)}"
    connection.executemany(sql, [(id,) for id in ids])


# What holds certain words, among the latest things of one owner, found by search rows within a transaction. The
# searches of requests run on partitions in memory, which a plan can't see: they don't hold what its own transaction
# wrote.


_MAX_LATEST, _MAX_LATEST_SAID = 2_000, 600
"""Search rows of memories and of messages that are looked at, the latest first: a millisecond or two."""
_TERMS_OF_MEMORIES = (
    "SELECT key, terms FROM units_memories WHERE partition = ? AND valid_from <= ?2 AND valid_to > ?2"
    " ORDER BY revision DESC LIMIT ?3"
)
_SAID_LATELY = (
    "SELECT e.id, e.name, u.flags, u.terms FROM units_events u CROSS JOIN events e ON e.key = u.key"
    " WHERE u.partition = ? AND u.flags & ? ORDER BY u.revision DESC LIMIT ?"
)


def said_lately(transaction: Transaction, partition: VisiblePartition, read: SaidLately) -> SaidBefore:
    transaction.flush()
    found = rows(transaction.connection, _SAID_LATELY, (partition.id, USER, _MAX_LATEST_SAID))
    return SaidBefore.of((id, from_sql(name), bool(flags & TEMPORAL), terms) for id, name, flags, terms in found)


def memories_with(transaction: Transaction, partition: VisiblePartition, read: MemoriesWith) -> tuple[Memory, ...]:
    transaction.flush()
    connection, at = transaction.connection, read.at.timestamp()
    found = list(rows(connection, _TERMS_OF_MEMORIES, (partition.id, at, _MAX_LATEST)))
    owners_of, hashes = _spread([terms for _, terms in found])
    holding = np.unique(owners_of[np.isin(hashes, np.array(read.hashes, np.uint32))])
    keys = [found[index][0] for index in holding.tolist()]
    sql = f"{MEMORY} WHERE key IN {LISTED} ORDER BY key"
    return tuple(memory_of(row, {partition.id: partition.user}) for row in rows(connection, sql, (to_json(keys),)))


def _spread(terms: Sequence[bytes]) -> tuple[NDArray[np.intp], NDArray[np.uint32]]:
    """Returns all hashes of these rows, and which row each belongs to."""
    lengths = [len(one) // 4 for one in terms]
    return np.repeat(np.arange(len(terms)), lengths), np.frombuffer(b"".join(terms), "<u4")
