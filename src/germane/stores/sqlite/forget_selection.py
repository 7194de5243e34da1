"""Forget selection: what a forgetting takes along, by ids, key, tag, session or provenance."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import apsw

from germane.memories.operations import Select, Selection
from germane.stores.sqlite.encoding import LISTED, shown, stored, to_json
from germane.stores.sqlite.forget_following import followed
from germane.stores.sqlite.graph_forget import graph_of, unsaid_without
from germane.stores.sqlite.history_forgetting import selected_history
from germane.stores.sqlite.rows import first, only, rows
from germane.stores.sqlite.task_forgetting import selected_tasks
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["select"]

_NAMED = (
    "SELECT e.id FROM sessions s CROSS JOIN events e INDEXED BY events_message"
    " ON e.session = s.key AND e.message_id = ? WHERE s.partition = ?"
)

_REPLACED = (
    "SELECT DISTINCT m.id FROM memories m INDEXED BY memories_replaced, json_each(m.provenance, '$.metadata.replaced') r"
    " WHERE m.partition = ? AND json_type(m.provenance, '$.metadata.replaced') = 'array'"
)
_ONE = "iif(r.type = 'object', r.value, '{}')"
"""What a successor says of one memory; a caller may have written anything there."""


def select(
    connection: apsw.Connection, partition: VisiblePartition, read: Select
) -> tuple[Selection, tuple[VisiblePartition, ...]]:
    """Returns what matches all criteria given, with what goes with it, and the partitions in which this stands; nothing where
    no criterion is given."""
    given = [read.ids, read.key, read.tag, read.session, read.source_kind, read.channel, read.user]
    if not read.everything and all(one is None for one in given):
        return Selection(), ()
    events = _events(connection, partition, read)
    matching = Selection(
        memory_ids=tuple(dict.fromkeys((*_memories(connection, partition, read), *_successors(connection, partition, read)))),
        event_ids=events,
        block_ids=tuple(_blocks(connection, partition, read)),
        graph_ids=_graph(connection, partition, read),
        task_ids=selected_tasks(connection, partition, read),
        history_ids=selected_history(connection, partition, read, events),
    )
    named = read.ids if read.ids is not None and _whole(replace(read, ids=None)) else ()
    found, partitions = followed(connection, (partition,), matching, named)
    things, graph = (*found.memory_ids, *found.event_ids, *found.block_ids), dict.fromkeys(found.graph_ids)
    for one in partitions:
        graph |= dict.fromkeys(unsaid_without(connection, one, things))
    return replace(found, graph_ids=tuple(graph)), partitions


def _graph(connection: apsw.Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """Returns the ids of entities, relations and patterns that match ids of germane's, the owner, or `everything`."""
    if read.everything or (read.user is not None and _whole(read)):
        return tuple(graph_of(connection, partition, None))
    return tuple(graph_of(connection, partition, read.ids)) if read.ids is not None and _whole(replace(read, ids=None)) else ()


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


def _successors(connection: apsw.Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """The memories that were made of others which a consolidation removed, and which match."""
    where, values = list[str](), list[Any]([partition.id])
    for name in ("session", "channel", "source_kind", "key"):
        if (value := getattr(read, name)) is not None:
            where.append(f"json_extract({_ONE}, '$.{name}') = ?")
            values.append(stored(value))
    if read.tag is not None:
        where.append(f"EXISTS (SELECT 1 FROM json_each({_ONE}, '$.tags') t WHERE t.value = ?)")
        values.append(stored(read.tag))
    if read.ids is not None:
        where.append(f"(json_extract({_ONE}, '$.id') IN {LISTED} OR json_extract({_ONE}, '$.message_id') IN {LISTED})")
        values += [to_json(read.ids)] * 2
    sql = f"{_REPLACED} AND {' AND '.join(where)} ORDER BY m.key" if where else ""
    return tuple(id for (id,) in rows(connection, sql, values)) if sql else ()


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
