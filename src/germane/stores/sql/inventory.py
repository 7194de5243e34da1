"""Inventory: counts what one scope holds, lists its users, finds ids by prefix, and reads tombstones."""

from __future__ import annotations

from datetime import datetime

from germane.errors import InvalidInput
from germane.kinds.inventory import IdsBeginning, IdsSaidAs, ListAgents, ListOrgs, ListUsers, OwnerOf, ScopeStats, TombstoneOf
from germane.stores.sql.connection import Connection
from germane.stores.sql.kinds import KINDS, TABLES, WITH_IDS, tombstone_of
from germane.stores.sql.listing import SECRET, Listing, VisiblePartition, in_clause
from germane.stores.sql.reading import Answers, ReadTransaction, ScopeReading, StoreAnswers
from germane.stores.sql.search.units import UNIT_TABLES
from germane.stores.sql.statements import first, maybe_moment, only, rows, to_sql
from germane.types.inventory import AgentPage, AgentSummary, OrgPage, OrgSummary, Stats, Tombstone, UserPage, UserSummary
from germane.types.query import Filters
from germane.types.scope import Scope

_HOLDS = "({})".format(
    " OR ".join(f"EXISTS (SELECT 1 FROM {table.name} WHERE partition = p.id)" for table in TABLES if table.keeps == "owner")
)
"""Whether anything is stored in the partition `p`: its row stays when everything in it was forgotten by id. What others share
with its owner doesn't count: an agent that has nothing of its own isn't listed for that."""
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
    sql = f"SELECT id, what, at, by, reason FROM tombstones WHERE id = ? AND partition IN {in_clause(reading.visible)}"
    row = first(reading.connection, sql, (to_sql(read.id),))
    return None if row is None else tombstone_of(row)


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
    for table in (*WITH_IDS, "tombstones"):
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
    counted = [kind.count(connection, here, at) for kind in KINDS]
    figures = {name: value for one in counted for name, value in one.fields.items()}
    return Stats(
        **figures,
        users=users,
        text_bytes=int(sum(one.text_bytes for one in counted)),
        pending_vectors=_pending(connection, here),
        oldest=maybe_moment(min((time for one in counted for time in one.oldest), default=None)),
        newest=maybe_moment(max((time for one in counted for time in one.newest), default=None)),
    )


def _pending(connection: Connection, here: str) -> int:
    """Counts the texts and parts of texts in these partitions that have no vector yet."""
    sql = f"SELECT count(*) FROM {{0}} INDEXED BY {{0}}_pending WHERE vector IS NULL AND partition IN {here}"
    return sum(only(connection, sql.format(table))[0] for tables in UNIT_TABLES.values() for table in tables)


INVENTORY_READS: Answers = {
    ScopeStats: lambda reading, read: _stats(reading.connection, reading.visible, reading.scope, read.at),
    ListUsers: _users,
    IdsBeginning: _beginning,
    IdsSaidAs: _said_as,
    TombstoneOf: _tombstone,
}
INVENTORY_STORE_READS: StoreAnswers = {ListAgents: _agents, ListOrgs: _orgs, OwnerOf: _owner}
