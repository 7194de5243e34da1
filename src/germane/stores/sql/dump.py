"""Dump: reads everything that is stored of some owners, within one snapshot and in portions of bounded size.

A dump has a connection of its own, so that it may take as long as its reader likes. Until it ends, SQLite keeps the pages that
it still has to read: a scrub of what is forgotten meanwhile waits for it, as it waits for a backup. A store in memory has no
log that would keep them, so there the dump reads a copy.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

from germane.errors import StoreUnavailable
from germane.kinds.archive.value import KeptEntry
from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.events.value import Event
from germane.kinds.tasks.value import TaskFrame
from germane.stores.sql.archive.archive_rows import ARCHIVED, HISTORY_TABLES, SUMMARY, archived_of, summary_of
from germane.stores.sql.blocks.block_rows import seen_blocks, shares_of
from germane.stores.sql.blocks.documents import ENTRY, entry_of, written_versions
from germane.stores.sql.connection import Connection, Database
from germane.stores.sql.events.event_rows import EVENT, event_of
from germane.stores.sql.graph.lookup import ENTITY, PATTERN, RELATION, entity_of, pattern_of, relation_of, said_of
from germane.stores.sql.graph.totals import GRAPH_TABLES
from germane.stores.sql.listing import FORGOTTEN_ORG, VisiblePartition
from germane.stores.sql.memories.conflicts import conflict_record
from germane.stores.sql.memories.memory_rows import MEMORY, memory_of
from germane.stores.sql.profile import marks_of
from germane.stores.sql.statements import LISTED, Row, first, from_sql, maybe_moment, moment, only, rows, to_json
from germane.stores.sql.tasks.task_rows import BRANCH, CHECKPOINT, branch_of, checkpoint_of, frames
from germane.stores.sql.tombstones import TOMBSTONE_KINDS
from germane.transfer.contents import (
    Contents,
    Owned,
    Owner,
    Reach,
    SessionRecord,
    Sources,
    StoredBlock,
    StoredDirective,
    StoredEntity,
    StoredPattern,
    StoredRelation,
    StoredStack,
    Thing,
)
from germane.types.inventory import Tombstone

_THINGS, _CHARACTERS = 256, 1 << 19
"""Things in one portion at most, and characters of their messages after which a portion ends."""
_PATIENCE = 60.0
"""Seconds for which the snapshot waits for its reader between two portions, such as a client that doesn't read on."""
_PAGE = 256
"""Memories read by one statement."""
_NOBODY = Owner(None, None, None)
_TOMBSTONES = f"SELECT id, what, at, by, reason FROM tombstones WHERE partition IN {LISTED} ORDER BY id"
_CONTRADICTIONS = (
    "SELECT l.id, l.reason, one.id, other.id, l.created_at, l.resolved_at, l.kept FROM memories one"
    " CROSS JOIN links l ON l.one = one.key AND l.kind = 'conflict' CROSS JOIN memories other ON other.key = l.other"
    " WHERE one.partition = ? ORDER BY l.id"
)
_STACKS = "SELECT session, branch, moves FROM task_heads WHERE partition = ? ORDER BY session"
_SESSIONS = "SELECT key, id, next, length, started_at, last_at FROM sessions WHERE partition = ? ORDER BY key"


class Dump:
    """One dump. Iterating over it yields `Contents`, then lists of what there is. Closing it ends the snapshot; so does its
    end."""

    def __init__(self, database: Database, reach: Reach) -> None:
        self._database, self._reach = database, reach
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._left: Iterator[Contents | Owned] | None = None
        self._ended = ""

    async def portions(self) -> AsyncIterator[list[Contents | Owned]]:
        """Yields what there is, the `Contents` first. Raises `StoreUnavailable` where the store is closed meanwhile, or where a
        minute passes before the next portion is asked for."""
        loop = asyncio.get_running_loop()
        try:
            while portion := await asyncio.to_thread(self._portion):
                timer = loop.call_later(_PATIENCE, self.close, "waited too long for its reader: begin it again, and read on")
                try:
                    yield portion
                finally:
                    timer.cancel()
        finally:
            self.close()

    def close(self, why: str = "ended, as the store was closed") -> None:
        """Ends the snapshot. Waits for the portion that is being read. Idempotent."""
        with self._lock:
            self._ended, self._left = self._ended or why, None
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _portion(self) -> list[Contents | Owned]:
        with self._lock, self._database.errors():
            if self._ended:
                raise StoreUnavailable(f"the export of store {self._database.name!r} {self._ended}")
            if self._left is None:
                self._connection = self._database.snapshot()
                self._left = _everything(self._connection, self._reach)
            portion, size = list[Contents | Owned](), 0
            for thing in self._left:
                portion.append(thing)
                size += _size(thing)
                if len(portion) == _THINGS or size > _CHARACTERS:
                    break
            return portion


def _size(thing: Contents | Owned) -> int:
    """The characters or bytes that make a thing large."""
    match thing.thing if isinstance(thing, Owned) else None:
        case Event(text=text) | ArchivalEntry(text=text):
            return len(text)
        case TaskFrame() as frame:
            return len(frame.result or "")
        case KeptEntry() as archived:
            return sum(len(str(message)) for message in archived.entry.messages)
        case StoredBlock() as stored:
            return len(stored.block.text) + sum(len(delta or b"") for _, delta in stored.versions)
    return 0


def _everything(connection: Connection, reach: Reach) -> Iterator[Contents | Owned]:
    owners = dict(_owners(connection, reach))
    gone = [row[0] for row in rows(connection, "SELECT id FROM partitions WHERE org = ?", (FORGOTTEN_ORG,))]
    nobodys = gone if reach.org is None else []
    yield _contents(connection, [*owners, *nobodys])
    for partition, owner in owners.items():
        for thing in _things(connection, partition, owner):
            yield Owned(owner, thing)
    for stone in rows(connection, _TOMBSTONES, (to_json(nobodys),)):
        yield Owned(_NOBODY, _tombstone(stone))


def _owners(connection: Connection, reach: Reach) -> Iterator[tuple[int, Owner]]:
    """The partitions within reach, with their owners: by org, agent and user, what is agent-wide first."""
    sql = "SELECT id, org, agent, user FROM partitions WHERE org <> ? ORDER BY org, agent, user"
    for id, org, agent, user in rows(connection, sql, (FORGOTTEN_ORG,)):
        owner = Owner(org, agent, user or None)
        if reach.covers(owner):
            yield id, owner


def _contents(connection: Connection, partitions: list[int]) -> Contents:
    inside = f"WHERE partition IN {LISTED}"
    bound = (to_json(partitions),)

    def figures(what: str, table: str) -> Row:
        return only(connection, f"SELECT {what} FROM {table} {inside}", bound)

    directives, memories, stones = (figures("count(*)", table)[0] for table in ("directives", "memories", "tombstones"))
    blocks, entries = (figures("count(*)", table)[0] for table in ("blocks", "archival_entries"))
    entities, relations, patterns = (figures("count(*)", table)[0] for table in GRAPH_TABLES)
    tasks, stacks = (figures("count(*)", table)[0] for table in ("tasks", "task_heads"))
    archived, summaries = (figures("count(*)", table)[0] for table in HISTORY_TABLES)
    own = f"(SELECT key FROM memories {inside})"
    contradictions = only(connection, f"SELECT count(*) FROM links WHERE kind = 'conflict' AND one IN {own}", bound)[0]
    sessions, messages, said = figures("count(*), total(length), max(last_at)", "sessions")
    times = [figures("max(updated_at)", "blocks")[0], figures("max(created_at)", "archival_entries")[0]]
    times += [figures("max(updated_at)", table)[0] for table in (*GRAPH_TABLES, "tasks", "memories")]
    times += [figures("max(created_at)", table)[0] for table in HISTORY_TABLES]
    marks, marked = figures("count(*), max(at)", "profile_marks")
    times += [said, marked, figures("max(at)", "tombstones")[0]]
    return Contents(
        directives=directives,
        memories=memories,
        contradictions=contradictions,
        sessions=sessions,
        messages=int(messages),
        tombstones=stones,
        blocks=blocks,
        entries=entries,
        entities=entities,
        relations=relations,
        patterns=patterns,
        tasks=tasks,
        task_stacks=stacks,
        archived=archived,
        summaries=summaries,
        profile_marks=marks,
        latest=maybe_moment(max((time for time in times if time is not None), default=None)),
    )


def _things(connection: Connection, partition: int, owner: Owner) -> Iterator[Thing]:
    users = {partition: owner.user}
    directive = first(connection, "SELECT text, id FROM directives WHERE partition = ?", (partition,))
    if directive is not None:
        yield StoredDirective(from_sql(directive[0]), directive[1])
    keys = sorted(row[0] for row in rows(connection, "SELECT key FROM memories WHERE partition = ?", (partition,)))
    for start in range(0, len(keys), _PAGE):
        sql = f"{MEMORY} WHERE key IN {LISTED} ORDER BY key"
        for row in rows(connection, sql, (to_json(keys[start : start + _PAGE]),)):
            yield memory_of(row, users)
    for row in rows(connection, _CONTRADICTIONS, (partition,)):
        yield conflict_record(row)
    yield from _blocks(connection, partition, owner)
    for row in rows(connection, f"{ENTRY} WHERE partition = ? ORDER BY key", (partition,)):
        yield entry_of(row, users)
    for key, id, next, length, started_at, last_at in list(rows(connection, _SESSIONS, (partition,))):
        yield SessionRecord(id=from_sql(id), next=next, length=length, started_at=moment(started_at), last_at=moment(last_at))
        for row in rows(connection, f"{EVENT} WHERE e.session = ? ORDER BY e.position", (key,)):
            yield event_of(row, users)
    yield from graph_things(connection, partition, owner.user)
    own = VisiblePartition(partition, owner.user, 0)
    for key in [key for (key,) in rows(connection, "SELECT key FROM tasks WHERE partition = ? ORDER BY key", (partition,))]:
        yield from frames(connection, own, "t.key = ?", (key,))
    for session, branch, moves in list(rows(connection, _STACKS, (partition,))):
        yield StoredStack(
            session=from_sql(session),
            branch=from_sql(branch),
            moves=moves,
            branches=tuple(map(branch_of, rows(connection, f"{BRANCH} AND session = ? ORDER BY name", (partition, session)))),
            checkpoints=tuple(
                map(checkpoint_of, rows(connection, f"{CHECKPOINT} AND session = ? ORDER BY name", (partition, session)))
            ),
        )
    for row in rows(connection, f"{ARCHIVED} ORDER BY key", (partition,)):
        yield archived_of(row)
    for row in rows(connection, f"{SUMMARY} ORDER BY key", (partition,)):
        yield summary_of(row)
    yield from marks_of(connection, partition)
    for stone in rows(connection, _TOMBSTONES, (to_json([partition]),)):
        yield _tombstone(stone)


def _blocks(connection: Connection, partition: int, owner: Owner) -> Iterator[StoredBlock]:
    own = VisiblePartition(partition, owner.user, 0)
    keys = [key for (key,) in rows(connection, "SELECT key FROM blocks WHERE partition = ? ORDER BY key", (partition,))]
    for key in keys:
        for seen in seen_blocks(connection, (own,), owner.user, "b.key = ?", (key,), shared=False):
            snapshot = first(connection, "SELECT number, data FROM block_snapshots WHERE block = ?", (key,))
            yield StoredBlock(
                block=seen.block,
                snapshot=None if snapshot is None else (snapshot[0], snapshot[1]),
                versions=written_versions(connection, key),
                shares=shares_of(connection, own, seen.block.id),
            )


def _tombstone(row: Row) -> Tombstone:
    id, what, at, by, reason = row
    return Tombstone(id=id, what=TOMBSTONE_KINDS[what], at=moment(at), by=from_sql(by), reason=from_sql(reason))


# The graph of a partition: entities, relations and patterns, each with who said what of it.


_ID = (
    "CASE x.domain WHEN 'events' THEN (SELECT id FROM events WHERE key = x.thing)"
    " WHEN 'memories' THEN (SELECT id FROM memories WHERE key = x.thing)"
    " ELSE (SELECT id FROM archival_entries WHERE key = x.thing) END"
)


def graph_things(
    connection: Connection, partition: int, user: str | None
) -> Iterator[StoredEntity | StoredRelation | StoredPattern]:
    """Yields them in the order in which they were stored."""
    users = {partition: user}
    for key in _keys(connection, "entities", partition):
        row = only(connection, f"{ENTITY} WHERE n.key = ?", (key,))
        stated = only(connection, "SELECT stated FROM entities WHERE key = ?", (key,))[0]
        said = _sources(connection, "mentions", "entity", key)
        yield StoredEntity(entity=entity_of(row, users), stated=None if stated is None else said_of(stated), mentions=said)
    for key in _keys(connection, "relations", partition):
        row = only(connection, f"{RELATION} WHERE r.key = ?", (key,))
        stated, ended_by = only(connection, "SELECT stated, ended_by FROM relations WHERE key = ?", (key,))
        yield StoredRelation(
            relation=relation_of(row, users),
            stated=None if stated is None else said_of(stated),
            refs=_sources(connection, "relation_refs", "relation", key),
            ended_by=ended_by,
        )
    for key in _keys(connection, "patterns", partition):
        row = only(connection, f"{PATTERN} WHERE p.key = ?", (key,))
        sql = f"SELECT {_ID} FROM pattern_refs x WHERE x.pattern = ? ORDER BY x.domain, x.thing"
        refs = tuple(id for (id,) in rows(connection, sql, (key,)))
        yield StoredPattern(pattern=pattern_of(row, users), refs=refs)


def _keys(connection: Connection, table: str, partition: int) -> list[int]:
    return sorted(key for (key,) in rows(connection, f"SELECT key FROM {table} WHERE partition = ?", (partition,)))


def _sources(connection: Connection, table: str, column: str, key: int) -> Sources:
    sql = f"SELECT {_ID}, x.said FROM {table} x WHERE x.{column} = ? ORDER BY x.domain, x.thing"
    return tuple((id, said_of(said)) for id, said in rows(connection, sql, (key,)))
