"""Forget: selects and deletes what is stored, with its search rows and vectors; leaves tombstones without content.

A partition that is forgotten as a whole loses its name too: its row gets random names that no scope has, so that its tombstones
still belong to a partition and other processes notice that it is gone.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import apsw

from germane.memories.operations import Forget, ForgetOwner, IdsInUse, IdUse, PutTombstones, Select, Selection
from germane.stores.sqlite.blocks import touch_block
from germane.stores.sqlite.encoding import LISTED, micros, shown, stored, to_json
from germane.stores.sqlite.graph_forget import GRAPH_TABLES, found_in_graph, graph_of, remove_from_graph, unsaid_without
from germane.stores.sqlite.graph_totals import forget_things
from germane.stores.sqlite.history_forgetting import HISTORY_TABLES, forget_history, selected_history
from germane.stores.sqlite.injections import forget_sessions, withdraw
from germane.stores.sqlite.links import delete_links
from germane.stores.sqlite.memories import derived_keys, mark_stale
from germane.stores.sqlite.outlines import mend_outlines
from germane.stores.sqlite.rows import Row, first, only, rows
from germane.stores.sqlite.sessions import shrink
from germane.stores.sqlite.task_forgetting import TASK_TABLES, drop_pointers, forget_tasks, selected_tasks
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.units import UNIT_TABLES, delete_units
from germane.stores.sqlite.visible_partitions import FORGOTTEN_ORG, VisiblePartition, in_clause
from germane.types.inventory import TombstoneKind

__all__ = ["TOMBSTONE_KINDS", "forget", "forget_whole", "ids_in_use", "put_tombstones", "select"]

TOMBSTONE_KINDS: dict[str, TombstoneKind] = {
    "memories": "memory",
    "events": "message",
    "blocks": "block",
    "entities": "entity",
    "relations": "relation",
    "patterns": "pattern",
    "tasks": "task",
    "history_archive": "archived",
    "history_summaries": "summary",
}
"""What a tombstone stands for, by the domain in its row."""
_NAMED_TABLES = ("memories", "events", "blocks", "archival_entries", *GRAPH_TABLES, "tasks", *HISTORY_TABLES)
_CONTENTS = (
    *(("memories", "partition"), ("sessions", "partition"), ("directives", "partition"), ("blocks", "partition")),
    ("tasks", "partition"),
    *(("archival_entries", "partition"), ("block_shares", "grantee"), ("tombstones", "partition")),
    *((table, "partition") for table in (*GRAPH_TABLES, *HISTORY_TABLES)),
)
"""What a partition can hold, so that its names are needed."""
_TOMBSTONE = "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_KEPT = _TOMBSTONE.replace("REPLACE", "IGNORE")
_NAMED = (
    "SELECT e.id FROM sessions s CROSS JOIN events e INDEXED BY events_message"
    " ON e.session = s.key AND e.message_id = ? WHERE s.partition = ?"
)
_SPEAKER_LESS = "UPDATE speakers SET events = events - 1 WHERE partition = ? AND name = ?"
_SPEAKER_GONE = "DELETE FROM speakers WHERE partition = ? AND name = ? AND events <= 0"


def select(connection: apsw.Connection, partition: VisiblePartition, read: Select) -> Selection:
    """Returns what matches all criteria given, and the memories that derive from it; nothing where no criterion is given."""
    given = [read.ids, read.key, read.tag, read.session, read.source_kind, read.channel, read.user]
    if not read.everything and all(one is None for one in given):
        return Selection()
    memories, events = _memories(connection, partition, read), _events(connection, partition, read)
    keys = derived_keys(connection, partition.id, (*memories, *events))
    sql = "SELECT id FROM memories WHERE key = ?"
    derived = [only(connection, sql, (key,))[0] for key in keys]
    blocks, gone = tuple(_blocks(connection, partition, read)), tuple(dict.fromkeys((*memories, *derived)))
    return Selection(
        memory_ids=gone,
        event_ids=events,
        block_ids=blocks,
        graph_ids=_graph(connection, partition, read, (*gone, *events, *blocks)),
        task_ids=selected_tasks(connection, partition, read),
        history_ids=selected_history(connection, partition, read, events),
    )


def forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Deletes what `change` names and what lies in `partitions`. Idempotent."""
    transaction.flush()
    found = found_in_graph(transaction.connection, partitions, change.graph_ids)
    remove_from_graph(transaction, found)
    forget_history(transaction, partitions, change)
    _forget_memories(transaction, partitions, change)
    _forget_events(transaction, partitions, change)
    _forget_blocks(transaction, partitions, change)
    for table, these in found.items():
        _bury(transaction, table, these, change)
    forget_tasks(transaction, partitions, change)
    drop_pointers(transaction, partitions, (*change.memory_ids, *change.event_ids, *change.block_ids, *change.task_ids))
    if change.session is not None:
        forget_sessions(transaction, partitions, change.session)


def forget_whole(transaction: Transaction, partition: VisiblePartition, change: ForgetOwner) -> None:
    """Remove all there is in `partition`, and the partition itself: directive, sessions, speakers, the names of org, agent and
    user. What earlier tombstones say of who and why goes too: it may name somebody. Of `change` itself it stays, unless it
    holds one of the names that are gone with this."""
    transaction.flush()
    connection = transaction.connection
    everything = Select(everything=True)
    memories, events = _memories(connection, partition, everything), _events(connection, partition, everything)
    blocks = tuple(_blocks(connection, partition, everything))
    connection.execute("UPDATE tombstones SET by = '', reason = '' WHERE partition = ?", (partition.id,))
    names = _names_only_here(connection, partition)
    told = not any(name in f"{change.by}\n{change.reason}".casefold() for name in names)
    by, reason = (change.by, change.reason) if told else ("", "")
    sql = "SELECT DISTINCT s.grantee FROM block_shares s JOIN blocks b ON b.key = s.block WHERE b.partition = ?"
    grantees = [grantee for (grantee,) in rows(connection, sql, (partition.id,))]
    graph = tuple(graph_of(connection, partition, None))
    tasks = selected_tasks(connection, partition, everything)
    gone = Forget(
        memory_ids=memories,
        event_ids=events,
        block_ids=blocks,
        graph_ids=graph,
        task_ids=tasks,
        history_ids=selected_history(connection, partition, everything, events),
        at=change.at,
        by=by,
        reason=reason,
    )
    forget(transaction, (partition,), gone)
    for grantee in grantees:
        if not _holds(connection, grantee):
            _unname(connection, grantee)
    connection.execute("DELETE FROM block_shares WHERE grantee = ?", (partition.id,))
    connection.execute("DELETE FROM block_consents WHERE requester = ?", (partition.id,))
    for table in ("directives", "injections", "sessions", "speakers", *TASK_TABLES):
        connection.execute(f"DELETE FROM {table} WHERE partition = ?", (partition.id,))
    _unname(connection, partition.id)
    transaction.near.drop(partition.id)
    transaction.erase(partition.id, vanished=True)


def _holds(connection: apsw.Connection, partition: int) -> bool:
    """Whether anything is stored in a partition, or shared with it."""
    return any(first(connection, f"SELECT 1 FROM {table} WHERE {column} = ?", (partition,)) for table, column in _CONTENTS)


def _unname(connection: apsw.Connection, partition: int) -> None:
    """Replaces the names of org, agent and user by ones that no scope has."""
    row = (FORGOTTEN_ORG, secrets.token_hex(16), partition)
    connection.execute("UPDATE partitions SET org = ?, agent = ?, user = '' WHERE id = ?", row)


def ids_in_use(transaction: Transaction, partition: VisiblePartition | None, read: IdsInUse) -> IdUse:
    transaction.write_events()
    ids, own, connection = to_json(read.ids), -1 if partition is None else partition.id, transaction.connection
    wanted = f"id IN {LISTED}"
    forgotten = rows(connection, f"SELECT id FROM tombstones WHERE {wanted}", (ids,))
    sql = " UNION ALL ".join(f"SELECT id FROM {table} WHERE {wanted} AND partition <> ?" for table in _NAMED_TABLES)
    elsewhere = rows(connection, sql, (ids, own) * len(_NAMED_TABLES))
    return IdUse(frozenset(id for (id,) in forgotten), frozenset(id for (id,) in elsewhere))


def put_tombstones(transaction: Transaction, partition: int | None, change: PutTombstones) -> None:
    """Keeps tombstones of another store. Those without a partition get one that nobody can reach, as if its owner had been
    forgotten here. Their rows get new keys, which no text has."""
    connection = transaction.connection
    if partition is None:
        row = (FORGOTTEN_ORG, secrets.token_hex(16))
        connection.execute("INSERT INTO partitions (org, agent, user) VALUES (?, ?, '')", row)
        partition = connection.last_insert_rowid()
    for domain, kind in TOMBSTONE_KINDS.items():
        stones = [stone for stone in change.tombstones if stone.what == kind]
        new = [
            (stone.id, domain, key, partition, transaction.revision, micros(stone.at), stored(stone.by), stored(stone.reason))
            for key, stone in zip(_keys(transaction, domain, len(stones)), stones, strict=True)
        ]
        connection.executemany(_KEPT, new)
    transaction.touch((partition,))


def _keys(transaction: Transaction, domain: str, count: int) -> Sequence[int]:
    """Row keys that nothing has; of tasks and of the graph no search rows are derived, so theirs say nothing."""
    return transaction.keys(domain, count) if domain in UNIT_TABLES else [0] * count


def _names_only_here(connection: apsw.Connection, partition: VisiblePartition) -> list[str]:
    names = only(connection, "SELECT org, agent, user FROM partitions WHERE id = ?", (partition.id,))
    found = list[str]()
    for column, name in zip(("org", "agent", "user"), names, strict=True):
        elsewhere = f"SELECT 1 FROM partitions WHERE {column} = ? AND id <> ?"
        if name and first(connection, elsewhere, (name, partition.id)) is None:
            found.append(name.casefold())
    return found


def _graph(connection: apsw.Connection, partition: VisiblePartition, read: Select, things: Sequence[str]) -> tuple[str, ...]:
    """Returns the ids of entities, relations and patterns that match ids of germane's, or `everything`, and of those that go
    with `things`."""
    if read.everything or (read.user is not None and _whole(read)):
        return tuple(graph_of(connection, partition, None))
    named = graph_of(connection, partition, read.ids) if read.ids is not None and _whole(replace(read, ids=None)) else []
    return tuple(dict.fromkeys((*named, *unsaid_without(connection, partition, things))))


def _whole(read: Select) -> bool:
    """Whether nothing narrows the selection."""
    return all(one is None for one in (read.ids, read.key, read.tag, read.session, read.source_kind, read.channel))


def _blocks(connection: apsw.Connection, partition: VisiblePartition, read: Select) -> list[str]:
    """Returns the ids of blocks and entries: they match `everything`, the owner, or ids of germane's, and no other
    criterion."""
    if any(one is not None for one in (read.key, read.tag, read.session, read.source_kind, read.channel)):
        return []
    where, bound = "partition = ?", tuple[Any, ...]((partition.id,))
    if read.ids is not None:
        where, bound = f"+partition = ? AND id IN {LISTED}", (partition.id, to_json(read.ids))
    sql = " UNION ALL ".join(f"SELECT key, id FROM {table} WHERE {where}" for table in ("blocks", "archival_entries"))
    found = rows(connection, f"SELECT id FROM ({sql}) ORDER BY key", bound * 2)
    return [id for (id,) in found]


def _memories(connection: apsw.Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    where, values = ["partition = ?"], list[Any]([partition.id])
    criteria: list[tuple[str, Any]] = [("fact_key = ?", read.key), ("session = ?", read.session), *_provenance(read)]
    criteria.append(("key IN (SELECT memory FROM memory_tags WHERE partition = memories.partition AND tag = ?)", read.tag))
    for clause, value in criteria:
        if value is not None:
            where.append(clause)
            values.append(stored(value))
    sql = f"SELECT id, message_id FROM memories WHERE {' AND '.join(where)}"
    return _matching(connection, sql, values, read.ids, lambda wanted: _scanned(connection, sql, values, wanted))


def _provenance(read: Select) -> list[tuple[str, Any]]:
    """The criteria of the provenance; what is usual in it isn't stored."""
    kind = "coalesce(json_extract(provenance, '$.source_kind'), 'user') = ?"
    return [(kind, read.source_kind), ("json_extract(provenance, '$.channel') = ?", read.channel)]


def _events(connection: apsw.Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    if read.key is not None or read.tag is not None:
        return ()
    where, values = ["partition = ?"], list[Any]([partition.id])
    if read.session is not None:
        where.append("session = (SELECT key FROM sessions WHERE partition = events.partition AND id = ?)")
        values.append(stored(read.session))
    for clause, value in _provenance(read):
        if value is not None:
            where.append(clause)
            values.append(stored(value))
    sql = f"SELECT id, message_id FROM events WHERE {' AND '.join(where)}"

    def named(wanted: Collection[Any]) -> list[str]:
        """Finds events by message id: with the index on each session's message ids, unless a scan of all events is less
        work."""
        sessions, events = only(connection, "SELECT count(*), total(length) FROM sessions WHERE partition = ?", (partition.id,))
        if read.session is not None or sessions * len(wanted) > events:
            return _scanned(connection, sql, values, wanted)
        return [id for one in wanted for (id,) in rows(connection, _NAMED, (one, partition.id))]

    return _matching(connection, sql, values, read.ids, named)


def _matching(
    connection: apsw.Connection,
    sql: str,
    values: list[Any],
    ids: tuple[str, ...] | None,
    named: Callable[[Collection[Any]], list[str]],
) -> tuple[str, ...]:
    """Returns the ids of all rows, or of the rows with one of `ids`. Only ids that aren't germane's are looked up with `named`
    as the caller's message ids."""
    if ids is None:
        return tuple(id for id, _ in rows(connection, f"{sql} ORDER BY key", values))
    wanted = dict.fromkeys(map(stored, ids))
    found = dict.fromkeys(id for id in wanted if first(connection, f"{sql} AND id = ?", (*values, id)))
    rest = dict.fromkeys(id for id in wanted if id not in found)
    if rest:
        found |= dict.fromkeys(named(rest))
    return tuple(map(shown, found))


def _scanned(connection: apsw.Connection, sql: str, values: list[Any], wanted: Collection[Any]) -> list[str]:
    found = rows(connection, f"{sql} AND message_id IS NOT NULL ORDER BY key", values)
    return [id for id, message_id in found if message_id in wanted]


def _forget_memories(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    sql = "SELECT key, id, partition FROM memories WHERE id = ? AND partition IN " + in_clause(partitions)
    found = _found(transaction.connection, sql, change.memory_ids)
    for partition in {row[2] for row in found}:
        mark_stale(transaction, partition, [row[1] for row in found if row[2] == partition], change.at)
    keys = [(row[0],) for row in found]
    transaction.connection.executemany("DELETE FROM memory_tags WHERE memory = ?", keys)
    transaction.connection.executemany("DELETE FROM derivations WHERE memory = ?", keys)
    _unsay(transaction, "memories", found)
    transaction.connection.executemany("DELETE FROM memories WHERE key = ?", keys)
    delete_links(transaction.connection, [row[0] for row in found])
    for partition in {row[2] for row in found}:
        transaction.near.drop(partition, [row[0] for row in found])
    _bury(transaction, "memories", found, change)


def _forget_events(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    connection = transaction.connection
    sql = "SELECT key, id, partition, session, name, position FROM events WHERE id = ? AND partition IN " + in_clause(
        partitions
    )
    found = _found(connection, sql, change.event_ids)
    _unsay(transaction, "events", found)
    connection.executemany("DELETE FROM events WHERE key = ?", [(row[0],) for row in found])
    said = [(row[2], row[4]) for row in found if row[4]]
    connection.executemany(_SPEAKER_LESS, said)
    connection.executemany(_SPEAKER_GONE, list(dict.fromkeys(said)))
    shrink(connection, {row[3] for row in found})
    forgotten: dict[int, list[int]] = {}
    for row in found:
        forgotten.setdefault(row[3], []).append(row[5])
    mend_outlines(connection, forgotten)
    _bury(transaction, "events", found, change)


def _forget_blocks(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    connection = transaction.connection
    for table in ("blocks", "archival_entries"):
        sql = f"SELECT key, id, partition FROM {table} WHERE id = ? AND partition IN " + in_clause(partitions)
        found = _found(connection, sql, change.block_ids)
        for key, _, partition in found if table == "blocks" else ():
            touch_block(transaction, partition, key)
        if table == "archival_entries":
            _unsay(transaction, "blocks", found)
        connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(row[0],) for row in found])  # with what refers to it
        _bury(transaction, "blocks", found, change)


def _unsay(transaction: Transaction, domain: str, found: Sequence[Row]) -> None:
    for partition in sorted({row[2] for row in found}):
        forget_things(transaction, partition, domain, [row[0] for row in found if row[2] == partition])


def _found(connection: apsw.Connection, sql: str, ids: Iterable[str]) -> list[Row]:
    found = (first(connection, sql, (id,)) for id in dict.fromkeys(ids))
    return [row for row in found if row is not None]


def _bury(transaction: Transaction, domain: str, found: Sequence[Row], change: Forget) -> None:
    if not found:
        return
    if domain in UNIT_TABLES:
        delete_units(transaction.connection, domain, [row[0] for row in found])
    withdraw(transaction, [row[1] for row in found])
    said = (micros(change.at), stored(change.by), stored(change.reason))
    stones = [(row[1], domain, row[0], row[2], transaction.revision, *said) for row in found]
    transaction.connection.executemany(_TOMBSTONE, stones)
    for partition in {row[2] for row in found}:
        transaction.erase(partition)
