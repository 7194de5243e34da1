"""Selection: what a forgetting takes along, by ids, key, tag, session or provenance, and all that goes with it.

What was made of forgotten things goes too: memories, tasks, and the sessions of agents to whom one of the tasks was delegated.
`Select` and `Forget` both add it, so a receipt names what is forgotten, and no plan can forget a text and leave what was made
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from germane.kinds.memories.reads import Forget, Select, Selection
from germane.stores.sql.archive.archive_rows import history_of_events, selected_history
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.totals import graph_of, unsaid_without
from germane.stores.sql.links import derived_ids, related_partitions
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.statements import LISTED, Row, first, from_sql, only, rows, to_json, to_sql
from germane.stores.sql.tasks.plans import selected_tasks
from germane.stores.sql.transaction import Transaction

_NAMED = (
    "SELECT e.id FROM sessions s CROSS JOIN events e INDEXED BY events_message"
    " ON e.session = s.key AND e.message_id = ? WHERE s.partition = ?"
)

_REPLACED = (
    "SELECT DISTINCT m.id FROM memories m INDEXED BY memories_replaced, json_each(m.provenance, '$.metadata.replaced') r"
    " WHERE m.partition = ? AND json_type(m.provenance, '$.metadata.replaced') = 'array'"
)
_SUCCESSOR = "iif(r.type = 'object', r.value, '{}')"
"""What a successor says of one memory; a caller may have written anything there."""


def select(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[Selection, tuple[VisiblePartition, ...]]:
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
    found, partitions = with_consequences(connection, (partition,), matching, named)
    things, graph = (*found.memory_ids, *found.event_ids, *found.block_ids), dict.fromkeys(found.graph_ids)
    for one in partitions:
        graph |= dict.fromkeys(unsaid_without(connection, one, things))
    return replace(found, graph_ids=tuple(graph)), partitions


def _graph(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """Returns the ids of entities, relations and patterns that match ids of germane's, the owner, or `everything`."""
    if read.everything or (read.user is not None and _whole(read)):
        return tuple(graph_of(connection, partition, None))
    return tuple(graph_of(connection, partition, read.ids)) if read.ids is not None and _whole(replace(read, ids=None)) else ()


def _whole(read: Select) -> bool:
    """Whether nothing narrows the selection."""
    return all(one is None for one in (read.ids, read.key, read.tag, read.session, read.source_kind, read.channel))


def _blocks(connection: Connection, partition: VisiblePartition, read: Select) -> list[str]:
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


def _memories(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    where, values = ["partition = ?"], list[Any]([partition.id])
    criteria: list[tuple[str, Any]] = [("fact_key = ?", read.key), ("session = ?", read.session), *_provenance(read)]
    criteria.append(("key IN (SELECT memory FROM memory_tags WHERE partition = memories.partition AND tag = ?)", read.tag))
    for clause, value in criteria:
        if value is not None:
            where.append(clause)
            values.append(to_sql(value))
    sql = f"SELECT id, message_id FROM memories WHERE {' AND '.join(where)}"
    return _matching(connection, sql, values, read.ids, lambda wanted: _scanned(connection, sql, values, wanted))


def _successors(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """The memories that were made of others which a consolidation removed, and which match."""
    where, values = list[str](), list[Any]([partition.id])
    for name in ("session", "channel", "source_kind", "key"):
        if (value := getattr(read, name)) is not None:
            where.append(f"json_extract({_SUCCESSOR}, '$.{name}') = ?")
            values.append(to_sql(value))
    if read.tag is not None:
        where.append(f"EXISTS (SELECT 1 FROM json_each({_SUCCESSOR}, '$.tags') t WHERE t.value = ?)")
        values.append(to_sql(read.tag))
    if read.ids is not None:
        where.append(
            f"(json_extract({_SUCCESSOR}, '$.id') IN {LISTED} OR json_extract({_SUCCESSOR}, '$.message_id') IN {LISTED})"
        )
        values += [to_json(read.ids)] * 2
    sql = f"{_REPLACED} AND {' AND '.join(where)} ORDER BY m.key" if where else ""
    return tuple(id for (id,) in rows(connection, sql, values)) if sql else ()


def _provenance(read: Select) -> list[tuple[str, Any]]:
    """The criteria of the provenance; what is usual in it isn't stored."""
    kind = "coalesce(json_extract(provenance, '$.source_kind'), 'user') = ?"
    return [(kind, read.source_kind), ("json_extract(provenance, '$.channel') = ?", read.channel)]


def _events(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    if read.key is not None or read.tag is not None:
        return ()
    where, values = ["partition = ?"], list[Any]([partition.id])
    if read.session is not None:
        where.append("session = (SELECT key FROM sessions WHERE partition = events.partition AND id = ?)")
        values.append(to_sql(read.session))
    for clause, value in _provenance(read):
        if value is not None:
            where.append(clause)
            values.append(to_sql(value))
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
    connection: Connection,
    sql: str,
    values: list[Any],
    ids: tuple[str, ...] | None,
    named: Callable[[Collection[Any]], list[str]],
) -> tuple[str, ...]:
    """Returns the ids of all rows, or of the rows with one of `ids`. Only ids that aren't germane's are looked up with `named`
    as the caller's message ids."""
    if ids is None:
        return tuple(id for id, _ in rows(connection, f"{sql} ORDER BY key", values))
    wanted = dict.fromkeys(map(to_sql, ids))
    found = dict.fromkeys(id for id in wanted if first(connection, f"{sql} AND id = ?", (*values, id)))
    rest = dict.fromkeys(id for id in wanted if id not in found)
    if rest:
        found |= dict.fromkeys(named(rest))
    return tuple(map(from_sql, found))


def _scanned(connection: Connection, sql: str, values: list[Any], wanted: Collection[Any]) -> list[str]:
    found = rows(connection, f"{sql} AND message_id IS NOT NULL ORDER BY key", values)
    return [id for id, message_id in found if message_id in wanted]


# All that goes with what is named, as it was made of it.


_Named = TypeVar("_Named", Selection, Forget)
_TABLES = {"memory_ids": "memories", "event_ids": "events", "task_ids": "tasks"}
_IN_SESSION = {
    "memory_ids": "SELECT id FROM memories WHERE partition = ? AND session = ? ORDER BY key",
    "event_ids": (
        "SELECT e.id FROM sessions s CROSS JOIN events e ON e.session = s.key WHERE s.partition = ? AND s.id = ? ORDER BY e.key"
    ),
}
_DELEGATED = f"SELECT DISTINCT child_session FROM tasks WHERE id IN {LISTED} AND child_session IS NOT NULL"


@dataclass(frozen=True, slots=True)
class _Following:
    """What was found so far, each id once, by the names of `Selection`."""

    connection: Connection
    owner: tuple[str, str]
    found: dict[str, dict[str, None]]
    partitions: dict[int, VisiblePartition]

    def add(self, name: str, ids: Sequence[str]) -> list[str]:
        """Adds ids, and returns those that are new."""
        known = self.found[name]
        new = [id for id in dict.fromkeys(ids) if id not in known]
        known.update(dict.fromkeys(new))
        return new

    def derived(self, sources: Sequence[str]) -> list[str]:
        """Adds what was made of these, and returns the ids that are new."""
        made, new = derived_ids(self.connection, self.owner, sources), list[str]()
        for name, table in _TABLES.items():
            sql = f"SELECT id FROM {table} WHERE id IN {LISTED} ORDER BY key"
            ids = [id for (id,) in rows(self.connection, sql, (to_json(made),))] if made else []
            for one in related_partitions(self.connection, self.owner, table, ids) if ids else ():
                self.partitions.setdefault(one.id, one)
            new += self.add(name, ids)
        below = Select(ids=tuple(self.found["task_ids"]))
        for partition in list(self.partitions.values()) if below.ids else ():
            new += self.add("task_ids", selected_tasks(self.connection, partition, below))
        return new

    def delegated(self, tasks: Sequence[str]) -> list[str]:
        """Adds what stands in the sessions of agents to whom these were delegated: the user's, or agent-wide. Returns the ids
        that are new."""
        sessions = [from_sql(session) for (session,) in rows(self.connection, _DELEGATED, (to_json(list(tasks)),))]
        new = list[str]()
        for session in self.add("sessions", sessions):
            for partition in self._where():
                asked, read = (partition.id, session), Select(session=session)
                for name, sql in _IN_SESSION.items():
                    new += self.add(name, [id for (id,) in rows(self.connection, sql, asked)])
                new += self.add("memory_ids", _successors(self.connection, partition, read))
                new += self.add("task_ids", selected_tasks(self.connection, partition, read))
                self.add("history_ids", selected_history(self.connection, partition, read, ()))
        return new

    def _where(self) -> list[VisiblePartition]:
        sql = "SELECT id, revision FROM partitions WHERE org = ? AND agent = ? AND user = ''"
        for id, revision in rows(self.connection, sql, self.owner):
            self.partitions.setdefault(id, VisiblePartition(id, None, revision))
        return list(self.partitions.values())


def with_consequences(
    connection: Connection, partitions: Sequence[VisiblePartition], named: _Named, also: Sequence[str] = ()
) -> tuple[_Named, tuple[VisiblePartition, ...]]:
    """Returns what is `named` with all that goes with it, and the partitions in which this stands. `also` are ids that may be
    gone already: what was made of them goes too."""
    if not partitions:
        return named, ()
    owner: tuple[str, str] = only(connection, "SELECT org, agent FROM partitions WHERE id = ?", (partitions[0].id,))
    names: tuple[str, ...] = ("memory_ids", "event_ids", "task_ids", "history_ids", "sessions")
    found: dict[str, dict[str, None]] = {name: dict.fromkeys(getattr(named, name)) for name in names}
    following = _Following(connection, owner, found, {one.id: one for one in partitions})
    before = {name: len(found[name]) for name in names}
    new = [*also, *named.block_ids, *named.graph_ids, *(id for name in names[:4] for id in found[name])]
    tasks = list(named.task_ids)
    while new or tasks:
        known = set(found["task_ids"])
        new = following.derived(new) if new else []
        tasks += [id for id in found["task_ids"] if id not in known]
        known = set(found["task_ids"])
        new += following.delegated(tasks) if tasks else []
        tasks = [id for id in found["task_ids"] if id not in known]
    gone = [*also, *named.block_ids, *named.graph_ids, *(id for name in names[:4] for id in found[name])]
    following.add("memory_ids", waiting_behind(connection, found["memory_ids"], gone))
    for partition in list(following.partitions.values()):
        events = history_of_events(connection, partition, tuple(found["event_ids"]))
        following.add("history_ids", events)
    if all(len(found[name]) == before[name] for name in names):
        return named, tuple(following.partitions.values())
    more: dict[str, Any] = {name: tuple(ids) for name, ids in found.items()}
    return replace(named, **more), tuple(following.partitions.values())


# Waiting memories: what a later message states as well waits behind the memory of the earlier one, superseded by it in
# the moment in which it begins. When the earlier one is forgotten because of its message, the first that waits takes
# its place: another message still says it. When that memory itself is forgotten, what waits behind it goes too.


_BEHIND = (
    "memories w INDEXED BY memories_superseded ON w.superseded_by = m.id WHERE w.partition = m.partition"
    " AND w.content_hash = m.content_hash AND w.valid_to = w.valid_from"
)
_BEHIND_NAMED = (
    f"SELECT w.id FROM json_each(?1) s JOIN memories m ON m.id = s.value JOIN {_BEHIND}"
    " AND EXISTS (SELECT 1 FROM derivations d WHERE d.thing = m.id AND d.source NOT IN (SELECT value FROM json_each(?2)))"
)
_WAITING = f"SELECT w.key, w.id FROM memories m JOIN {_BEHIND} AND m.key = ? ORDER BY w.valid_from, w.key"
_TAKE_PLACE = (
    "UPDATE memories SET (valid_to, superseded_by, pinned) ="
    " (SELECT valid_to, superseded_by, pinned FROM memories WHERE key = ?2) WHERE key = ?1"
)
_TAKE_PLACE_OF_UNIT = (
    "UPDATE units_memories SET valid_to = (SELECT valid_to FROM units_memories WHERE key = ?2), revision = ?3 WHERE key = ?1"
)


def waiting_behind(connection: Connection, memories: Collection[str], gone: Iterable[str]) -> list[str]:
    """Returns the ids of what waits behind those of the memories that aren't forgotten for their sources: one of these stays.
    `gone` are the ids of all that is forgotten."""
    return [id for (id,) in rows(connection, _BEHIND_NAMED, (to_json(list(memories)), to_json(list(gone))))]


def promote_waiting(transaction: Transaction, found: Iterable[Row], gone: Collection[str]) -> None:
    """Lets what waits behind these memories, rows of key, id and partition, take their places: until when they held, whether
    they are pinned, and their marks. Nothing of `gone` does. To be called before the memories are deleted."""
    connection = transaction.connection
    for key, id, partition in found:
        waiting = [row for row in rows(connection, _WAITING, (key,)) if row[1] not in gone]
        if not waiting:
            continue
        transaction.flush()
        (first, name), *others = waiting
        connection.execute(_TAKE_PLACE, (first, key))
        connection.execute(_TAKE_PLACE_OF_UNIT, (first, key, transaction.revision))
        connection.executemany("UPDATE memories SET superseded_by = ? WHERE key = ?", [(name, other) for other, _ in others])
        marks = "UPDATE profile_marks SET line = ?1, thing = ?1 WHERE thing = ?2 AND line = ?2"
        connection.execute(marks, (to_sql(name), to_sql(id)))
        transaction.touch((partition,))
