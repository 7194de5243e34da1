"""Inventory: counts what one scope holds, lists its users, finds ids by prefix, and reads tombstones."""

from __future__ import annotations

from datetime import datetime

from germane.errors import InvalidInput
from germane.kinds.events.value import DOCUMENT, MESSAGE_TYPES
from germane.kinds.inventory import IdsBeginning, IdsSaidAs, ListAgents, ListOrgs, ListUsers, OwnerOf, ScopeStats, TombstoneOf
from germane.stores.sql.archive.archive_rows import HISTORY_TABLES
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.totals import GRAPH_TABLES
from germane.stores.sql.listing import SECRET, Listing, VisiblePartition, in_clause
from germane.stores.sql.reading import Answers, ReadTransaction, ScopeReading, StoreAnswers
from germane.stores.sql.search.units import UNIT_TABLES
from germane.stores.sql.statements import LISTED, first, from_sql, maybe_moment, micros, moment, only, rows, to_json, to_sql
from germane.stores.sql.tombstones import TOMBSTONE_KINDS
from germane.types.inventory import AgentPage, AgentSummary, OrgPage, OrgSummary, Stats, Tombstone, UserPage, UserSummary
from germane.types.query import Filters
from germane.types.scope import Scope

_HOLDS = (
    "(EXISTS (SELECT 1 FROM memories WHERE partition = p.id) OR EXISTS (SELECT 1 FROM sessions WHERE partition = p.id)"
    " OR EXISTS (SELECT 1 FROM directives WHERE partition = p.id) OR EXISTS (SELECT 1 FROM blocks WHERE partition = p.id)"
    " OR EXISTS (SELECT 1 FROM archival_entries WHERE partition = p.id) OR EXISTS (SELECT 1 FROM tasks WHERE partition = p.id)"
    " OR EXISTS (SELECT 1 FROM history_archive WHERE partition = p.id)"
    " OR EXISTS (SELECT 1 FROM history_summaries WHERE partition = p.id)"
    " OR EXISTS (SELECT 1 FROM entities WHERE partition = p.id) OR EXISTS (SELECT 1 FROM patterns WHERE partition = p.id))"
)
"""Whether anything is stored in the partition `p`: its row stays when everything in it was forgotten by id."""
_USERS = f"SELECT p.id, p.user FROM partitions p WHERE p.org = ? AND p.agent = ? AND p.user <> '' AND p.id > ? AND {_HOLDS}"
_USER = (
    "SELECT (SELECT count(*) FROM memories WHERE partition = ?1), total(length), count(*),"
    " max(ifnull(max(last_at), 0), ifnull((SELECT max(created_at) FROM memories WHERE partition = ?1), 0))"
    " FROM sessions WHERE partition = ?1 AND document IS NULL"
)
_AGENTS = (
    "SELECT min(p.id), p.agent, count(nullif(p.user, '')), json_group_array(p.id) FROM partitions p"
    f" WHERE p.org = ? AND {_HOLDS} GROUP BY p.agent HAVING min(p.id) > ? ORDER BY min(p.id) LIMIT ?"
)
_ORGS = (
    "SELECT min(p.id), p.org, count(DISTINCT p.agent), count(nullif(p.user, '')), json_group_array(p.id) FROM partitions p"
    f" WHERE p.org <> '' AND {_HOLDS} GROUP BY p.org HAVING min(p.id) > ? ORDER BY min(p.id) LIMIT ?"
)
_KEPT = (
    "SELECT (SELECT count(*) FROM memories WHERE partition IN (SELECT value FROM json_each(?1))),"
    " (SELECT total(length) FROM sessions WHERE partition IN (SELECT value FROM json_each(?1)) AND document IS NULL)"
)
_VALID = "valid_from <= ?1 AND (valid_to IS NULL OR valid_to > ?1) AND (expires_at IS NULL OR expires_at > ?1)"
_EXTRACTED = "CASE WHEN instr(provenance, 'extracted') THEN json_extract(provenance, '$.metadata.extracted') END"
"""What found the memory in a message: the name of a rule, or `llm`."""
_KINDS = (
    f"SELECT kind, total({_VALID}), count(*), total(pinned AND {_VALID}), total(octet_length(content)), min(created_at),"
    f" max(created_at), total({_VALID} AND ({_EXTRACTED}) IS NOT NULL), total({_VALID} AND ({_EXTRACTED}) IS 'llm')"
    " FROM memories WHERE partition IN {} GROUP BY kind ORDER BY kind"
)
_MESSAGES = (
    "SELECT total(length), count(*), min(started_at), max(last_at) FROM sessions WHERE partition IN {} AND document IS NULL"
)
_DOCUMENTS = "SELECT count(*), total(length) FROM sessions WHERE partition IN {} AND document IS NOT NULL"
_TYPED = f"SELECT count(*) FROM events INDEXED BY events_type WHERE partition IN {{}} AND type NOT IN {LISTED}"
_BLOCKS = "SELECT count(*), total(octet_length(text)) FROM blocks WHERE partition IN {} AND deleted_at IS NULL"
_ENTRIES = "SELECT count(*), total(octet_length(text)) FROM archival_entries WHERE partition IN {}"
_TASKS = "SELECT count(*), total(octet_length(goal)) + total(octet_length(result)) FROM tasks WHERE partition IN {}"
_HISTORY = "SELECT count(*), total(octet_length({})) FROM {} WHERE partition IN {}"
_OUTLINES = (
    "SELECT count(*), total(octet_length(line)) FROM sessions s JOIN history_outlines o ON o.session = s.key WHERE s.partition"
    " IN {} AND s.document IS NULL"
)
_SAID_AS = (
    "SELECT e.id FROM sessions s CROSS JOIN events e INDEXED BY events_message ON e.session = s.key AND e.message_id = ?"
    " WHERE s.partition IN {} LIMIT ?"
)
_OWNER = "SELECT p.agent, p.user FROM {} t JOIN partitions p ON p.id = t.partition WHERE t.id = ? AND p.org = ? AND p.org <> ''"


def _beginning(reading: ScopeReading, read: IdsBeginning) -> tuple[str, ...]:
    """Reads the scope's own rows and not the index of all ids, so that it takes no longer where others store more."""
    here, given = in_clause(reading.visible), (len(read.prefix), read.prefix, read.limit)
    sql = f"SELECT id FROM {read.domain} WHERE partition IN {here} AND substr(+id, 1, ?) = ? LIMIT ?"
    return tuple(sorted(id for (id,) in rows(reading.connection, sql, given)))


def _said_as(reading: ScopeReading, read: IdsSaidAs) -> tuple[str, ...]:
    sql = _SAID_AS.format(in_clause(reading.visible))
    return tuple(id for (id,) in rows(reading.connection, sql, (to_sql(read.message_id), read.limit)))


def _tombstone(reading: ScopeReading, read: TombstoneOf) -> Tombstone | None:
    sql = f"SELECT what, at, by, reason FROM tombstones WHERE id = ? AND partition IN {in_clause(reading.visible)}"
    row = first(reading.connection, sql, (to_sql(read.id),))
    if row is None:
        return None
    what, at, by, reason = row
    return Tombstone(id=read.id, what=TOMBSTONE_KINDS[what], at=moment(at), by=from_sql(by), reason=from_sql(reason))


def _agents(reading: ReadTransaction, read: ListAgents) -> AgentPage:
    org, limit = read.org, read.limit
    listing, after = _continued(reading.connection, "agents", Scope(org=org), limit, read.cursor)
    found = list(rows(reading.connection, _AGENTS, (org, after, limit + 1)))
    agents = []
    for _, agent, users, partitions in found[:limit]:
        memories, messages = only(reading.connection, _KEPT, (partitions,))
        agents.append(AgentSummary(agent=agent, users=users, memories=memories, messages=int(messages)))
    return AgentPage(agents=tuple(agents), cursor=listing.cursor(0, found[limit - 1][0]) if len(found) > limit else None)


def _orgs(reading: ReadTransaction, read: ListOrgs) -> OrgPage:
    limit = read.limit
    listing, after = _continued(reading.connection, "orgs", Scope(), limit, read.cursor)
    found = list(rows(reading.connection, _ORGS, (after, limit + 1)))
    orgs = []
    for _, org, agents, users, partitions in found[:limit]:
        memories, messages = only(reading.connection, _KEPT, (partitions,))
        orgs.append(OrgSummary(org=org, agents=agents, users=users, memories=memories, messages=int(messages)))
    return OrgPage(orgs=tuple(orgs), cursor=listing.cursor(0, found[limit - 1][0]) if len(found) > limit else None)


def _owner(reading: ReadTransaction, read: OwnerOf) -> tuple[str, str | None] | None:
    for table in ("memories", "events", "blocks", "archival_entries", *GRAPH_TABLES, "tasks", *HISTORY_TABLES, "tombstones"):
        row = first(reading.connection, _OWNER.format(table), (to_sql(read.id), read.org))
        if row is not None:
            return row[0], row[1] or None
    return None


def _users(reading: ScopeReading, read: ListUsers) -> UserPage:
    scope, limit = reading.scope, read.limit
    listing, after = _continued(reading.connection, "users", scope, limit, read.cursor)
    if scope.user is not None:
        return UserPage(users=())
    found = list(rows(reading.connection, f"{_USERS} ORDER BY p.id LIMIT ?", (scope.org, scope.agent, after, limit + 1)))
    users = []
    for partition, user in found[:limit]:
        memories, messages, sessions, last = only(reading.connection, _USER, (partition,))
        at = maybe_moment(last or None)
        users.append(UserSummary(user=user, memories=memories, messages=int(messages), sessions=sessions, last_at=at))
    return UserPage(users=tuple(users), cursor=listing.cursor(0, found[limit - 1][0]) if len(found) > limit else None)


def _continued(connection: Connection, what: str, scope: Scope, limit: int, cursor: str | None) -> tuple[Listing, int]:
    """Returns the listing, and the partition after which it continues."""
    if limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {limit}")
    listing = Listing(only(connection, SECRET)[0], scope, Filters(), what)
    return listing, 0 if cursor is None else listing.position(cursor)[1]


def _stats(connection: Connection, visible: tuple[VisiblePartition, ...], scope: Scope, at: datetime) -> Stats:
    here, users = in_clause(visible), None
    if scope.user is None:
        sql = f"SELECT count(*) FROM ({_USERS})"
        users = only(connection, sql, (scope.org, scope.agent, 0))[0]
    if not visible:
        return Stats(users=users)
    kinds = list(rows(connection, _KINDS.format(here), (micros(at),)))
    recorded, sessions, started, last = only(connection, _MESSAGES.format(here))
    events = int(only(connection, _TYPED.format(here), (to_json((*MESSAGE_TYPES, DOCUMENT)),))[0])
    size = f"SELECT total(octet_length(text)) FROM events INDEXED BY events_type WHERE partition IN {here}"
    pending = 0
    for table in (table for tables in UNIT_TABLES.values() for table in tables):
        sql = f"SELECT count(*) FROM {table} INDEXED BY {table}_pending WHERE vector IS NULL AND partition IN {here}"
        pending += only(connection, sql)[0]
    blocks, block_bytes = only(connection, _BLOCKS.format(here))
    documents, passages = only(connection, _DOCUMENTS.format(here))
    entries, entry_bytes = only(connection, _ENTRIES.format(here))
    entities, relations, patterns = (
        only(connection, f"SELECT count(*) FROM {table} WHERE partition IN {here}")[0] for table in GRAPH_TABLES
    )
    tasks, task_bytes = only(connection, _TASKS.format(here))
    archived, archived_bytes = only(connection, _HISTORY.format("messages", "history_archive", here))
    summaries, summary_bytes = only(connection, _HISTORY.format("text", "history_summaries", here))
    lines, line_bytes = only(connection, _OUTLINES.format(here))
    clauses, marks = (
        only(connection, f"SELECT count(*) FROM {table} WHERE partition IN {here}")[0]
        for table in ("telling_clauses", "profile_marks")
    )
    found, by_llm = (sum(int(row[place]) for row in kinds) for place in (7, 8))
    times = [*(row[5] for row in kinds), *([started] if started is not None else [])]
    latest = [*(row[6] for row in kinds), *([last] if last is not None else [])]
    return Stats(
        memories={kind: int(valid) for kind, valid, *_ in kinds if valid},
        ended=sum(row[2] - int(row[1]) for row in kinds),
        pinned=sum(int(row[3]) for row in kinds),
        messages=int(recorded) - events,
        events=events,
        sessions=sessions,
        users=users,
        text_bytes=int(
            sum(row[4] for row in kinds)
            + only(connection, size)[0]
            + sum((block_bytes, entry_bytes, task_bytes, archived_bytes, summary_bytes, line_bytes))
        ),
        pending_vectors=pending,
        blocks=blocks,
        archival_entries=entries,
        documents=documents,
        passages=int(passages),
        entities=entities,
        relations=relations,
        patterns=patterns,
        tasks=tasks,
        archived=archived,
        summaries=summaries,
        outline_lines=lines,
        telling_clauses=clauses,
        profile_marks=marks,
        oldest=maybe_moment(min(times, default=None)),
        newest=maybe_moment(max(latest, default=None)),
        extracted={name: count for name, count in (("llm", by_llm), ("rules", found - by_llm)) if count},
    )


INVENTORY_READS: Answers = {
    ScopeStats: lambda reading, read: _stats(reading.connection, reading.visible, reading.scope, read.at),
    ListUsers: _users,
    IdsBeginning: _beginning,
    IdsSaidAs: _said_as,
    TombstoneOf: _tombstone,
}
INVENTORY_STORE_READS: StoreAnswers = {ListAgents: _agents, ListOrgs: _orgs, OwnerOf: _owner}
