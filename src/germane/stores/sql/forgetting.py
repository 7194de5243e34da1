"""Forgetting: deletes what is named, with its search rows and what refers to it; leaves tombstones without content."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from germane.kinds.memories.reads import (
    Forget,
    ForgetOwner,
    IdsInUse,
    IdUse,
    LeftOf,
    PutTombstones,
    Remains,
    Select,
    Selection,
)
from germane.stores.sql.connection import Connection
from germane.stores.sql.conversations.alias_rows import remember_forgotten, remember_sessions
from germane.stores.sql.kind import of_ids, of_keys
from germane.stores.sql.kinds import KINDS, TABLES, TOMBSTONE_KINDS, WITH_IDS
from germane.stores.sql.listing import FORGOTTEN_ORG, VisiblePartition
from germane.stores.sql.reading import Answers, ScopeReading
from germane.stores.sql.search.units import UNIT_TABLES
from germane.stores.sql.selection import select, with_consequences
from germane.stores.sql.statements import LISTED, first, micros, only, rows, to_json, to_sql
from germane.stores.sql.tombstones import PUT_TOMBSTONE, bury
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction, within_plan
from germane.types.inventory import StoredKind
from germane.types.scope import Scope


def forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Deletes what `change` names and what lies in `partitions`, with all that was made of it. Idempotent."""
    transaction.flush()
    if not change.replaced:
        change, partitions = with_consequences(transaction.connection, partitions, change)
    remember_sessions(transaction, partitions, change)
    for kind in reversed(KINDS):
        kind.forget(transaction, partitions, change)


# A partition as a whole loses its name too: its row gets random names that no scope has, so that its tombstones still
# belong to a partition and other processes notice that it is gone.


def forget_whole(transaction: Transaction, partition: VisiblePartition, change: ForgetOwner) -> None:
    """Removes all there is in `partition`, and the partition itself: directive, sessions, speakers, the names of org, agent and
    user. What earlier tombstones say of who and why goes too: it may name somebody. Of `change` itself it stays, unless it
    holds one of the names that are gone with this."""
    transaction.flush()
    connection = transaction.connection
    connection.execute("UPDATE tombstones SET by = '', reason = '' WHERE partition = ?", (partition.id,))
    names = _names_only_here(connection, partition)
    told = not any(name in f"{change.by}\n{change.reason}".casefold() for name in names)
    by, reason = (change.by, change.reason) if told else ("", "")
    sharing = [kind.sharing for kind in KINDS if kind.sharing]
    others = [other for sql in sharing for (other,) in rows(connection, sql, (partition.id,))]
    found, partitions = select(connection, partition, Select(everything=True))
    gone = found.forgetting(at=change.at, by=by, reason=reason)
    forget(transaction, partitions, gone)
    for other in others:
        if not _needs_names(connection, other):
            _unname(connection, other)
    for table in TABLES:
        if table.cleared and table.name in TOMBSTONE_KINDS:
            left = rows(connection, f"SELECT 0, id, partition FROM {table.name} WHERE {table.owner} = ?", (partition.id,))
            bury(transaction, table.name, list(left), gone)
        if table.cleared:
            connection.execute(f"DELETE FROM {table.name} WHERE {table.owner} = ?", (partition.id,))
    _unname(connection, partition.id)
    transaction.near.drop(partition.id)
    transaction.erase(partition.id, vanished=True)


def _needs_names(connection: Connection, partition: int) -> bool:
    """Whether anything is stored in a partition, or shared with it."""
    places = [(table.name, table.owner) for table in TABLES if table.keeps != "nothing"]
    places.append(("tombstones", "partition"))
    return any(first(connection, f"SELECT 1 FROM {table} WHERE {column} = ?", (partition,)) for table, column in places)


def _unname(connection: Connection, partition: int) -> None:
    """Replaces the names of org, agent and user by ones that no scope has."""
    row = (FORGOTTEN_ORG, secrets.token_hex(16), partition)
    connection.execute("UPDATE partitions SET org = ?, agent = ?, user = '' WHERE id = ?", row)


def _names_only_here(connection: Connection, partition: VisiblePartition) -> list[str]:
    names = only(connection, "SELECT org, agent, user FROM partitions WHERE id = ?", (partition.id,))
    found = list[str]()
    for column, name in zip(("org", "agent", "user"), names, strict=True):
        elsewhere = f"SELECT 1 FROM partitions WHERE {column} = ? AND id <> ?"
        if name and first(connection, elsewhere, (name, partition.id)) is None:
            found.append(name.casefold())
    return found


# Looks in every table for what is left of forgotten things, after the changes of the same transaction.


_PLACES = {
    "derivations": (of_ids("derivations", "source"), of_ids("derivations", "thing")),
    "search rows and vectors": tuple(
        of_keys(table, "key", domain) for domain, tables in UNIT_TABLES.items() for table in tables
    ),
    **{place: queries for kind in KINDS for place, queries in kind.remains.items()},
}
"""The places that hold anything of what is stored, each with the queries that find what is left."""


def left_of(connection: Connection, read: LeftOf) -> Remains:
    """Looks for the ids, and for the row keys that their tombstones hold, in each table that holds anything of a memory or an
    event."""
    ids = to_json(list(read.ids))
    found = [
        place
        for place, queries in _PLACES.items()
        if first(connection, f"{' UNION ALL '.join(queries)} LIMIT 1", (ids,)) is not None
    ]
    return Remains(checked=tuple(_PLACES), holding=tuple(found))


# Ids that are taken: those of what is stored, of whatever kind, and those of tombstones, also of another store's.


_STORED = " UNION ALL ".join(
    f"SELECT id, partition, '{what}' FROM {table} WHERE id IN {LISTED}" for table, what in WITH_IDS.items()
)
_KEEP_TOMBSTONE = PUT_TOMBSTONE.replace("REPLACE", "IGNORE")


def _ids_in_use(transaction: Transaction, partition: VisiblePartition | None, read: IdsInUse) -> IdUse:
    transaction.write_events()
    ids, connection = to_json(read.ids), transaction.connection
    forgotten = rows(connection, f"SELECT id FROM tombstones WHERE id IN {LISTED}", (ids,))
    elsewhere, own = set[str](), dict[str, StoredKind]()
    for id, whose, kind in rows(connection, _STORED, (ids,) * len(WITH_IDS)):
        if partition is not None and whose == partition.id:
            own[id] = kind
        else:
            elsewhere.add(id)
    return IdUse(frozenset(id for (id,) in forgotten), frozenset(elsewhere), own)


def _put_foreign_tombstones(transaction: Transaction, partition: int | None, change: PutTombstones) -> None:
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
            (stone.id, domain, key, partition, transaction.revision, micros(stone.at), to_sql(stone.by), to_sql(stone.reason))
            for key, stone in zip(_keys(transaction, domain, len(stones)), stones, strict=True)
        ]
        connection.executemany(_KEEP_TOMBSTONE, new)
    transaction.touch((partition,))


def _keys(transaction: Transaction, domain: str, count: int) -> Sequence[int]:
    """Row keys that nothing has; of tasks and of the graph no search rows are derived, so theirs say nothing."""
    return transaction.keys(domain, count) if domain in UNIT_TABLES else [0] * count


# The tables. A plan reaches what its user owns, and what a `Select` of the same plan named.


def _selected(reading: ScopeReading, read: Select) -> Selection:
    writing = within_plan(reading, read)
    writing.write_events()
    own = _owned(writing, read.user)
    if own is None:
        return Selection()
    found, partitions = select(writing.connection, own, read)
    writing.selected.update((own, *partitions))
    return found


def _left_of(reading: ScopeReading, read: LeftOf) -> Remains:
    writing = within_plan(reading, read)
    writing.transaction.flush()
    return left_of(writing.connection, read)


def _owned(writing: ScopeWriting, user: str | None) -> VisiblePartition | None:
    """Returns the partition of `user` (None: of the scope's own user). A scope with a user gets no other user's partition."""
    scope = writing.scope
    user = scope.user if user is None else user
    if scope.user not in (None, user):
        return None
    whose = Scope(org=scope.org, agent=scope.agent, user=user)
    return next((partition for partition in writing.transaction.visible(whose) if partition.user == user), None)


def _forget(writing: ScopeWriting, change: Forget) -> None:
    own, scope = writing.own, writing.scope
    for session in change.sessions:  # which may have nothing stored, and an owner that has nothing
        remember_forgotten(writing.transaction, change.at, scope.org, scope.agent, scope.user or "", session)
    forget(writing.transaction, tuple(writing.selected | (set() if own is None else {own})), change)


def _forget_owner(writing: ScopeWriting, change: ForgetOwner) -> None:
    whole, scope = _owned(writing, change.user), writing.scope
    user = scope.user if change.user is None else change.user
    remember_forgotten(writing.transaction, change.at, scope.org, scope.agent, user or "")
    if whole is not None:
        forget_whole(writing.transaction, whole, change)


def _put_tombstones(writing: ScopeWriting, change: PutTombstones) -> None:
    _put_foreign_tombstones(writing.transaction, None if change.ownerless else writing.own_id(), change)


FORGETTING_READS: Answers = {
    IdsInUse: lambda reading, read: _ids_in_use(within_plan(reading, read).transaction, reading.own, read),
    Select: _selected,
    LeftOf: _left_of,
}
FORGETTING_CHANGES: Appliers = {Forget: _forget, ForgetOwner: _forget_owner, PutTombstones: _put_tombstones}
