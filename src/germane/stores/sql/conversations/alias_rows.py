"""Alias rows: aliases of sessions, and the times at which sessions and owners were forgotten, as rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import product

from germane.kinds.conversations.aliases import (
    MAX_ALIAS_DAYS,
    MAX_ALIASES,
    MAX_FORGOTTEN_DAYS,
    AliasedSession,
    AliasedSessions,
    ForgottenSince,
    NoteForgotten,
    PutAliases,
)
from germane.kinds.memories.reads import Forget
from germane.stores.sql.connection import Connection
from germane.stores.sql.kind import KindTable, SqlKind
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.reading import Answers, ScopeReading, of_own
from germane.stores.sql.statements import LISTED, first, from_sql, micros, moment, only, rows, scope_mark, to_json, to_sql
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction

_FOUND = (
    "SELECT session, turns, at FROM session_aliases WHERE partition = ? AND alias = ? ORDER BY at DESC, session DESC LIMIT ?"
)
_PUT = (
    "INSERT INTO session_aliases (partition, alias, session, turns, at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (partition, alias, session) DO UPDATE SET turns = excluded.turns, at = excluded.at"
)
_SURPLUS = (
    "DELETE FROM session_aliases WHERE partition = ?1 AND session = ?2 AND alias IN (SELECT alias FROM session_aliases"
    " WHERE partition = ?1 AND session = ?2 ORDER BY at DESC, alias LIMIT -1 OFFSET ?3)"
)
_FORGOTTEN = f"SELECT 1 FROM forgotten_scopes WHERE mark IN {LISTED} AND at >= ? LIMIT 1"
_NOTED = "INSERT INTO forgotten_scopes VALUES (?, ?) ON CONFLICT (mark) DO UPDATE SET at = max(at, excluded.at)"


def _aliased(connection: Connection, own: VisiblePartition, read: AliasedSessions) -> tuple[AliasedSession, ...]:
    return tuple(
        AliasedSession(alias=alias, session=from_sql(session), turns=turns, at=moment(at))
        for alias in dict.fromkeys(read.aliases)
        for session, turns, at in rows(connection, _FOUND, (own.id, alias, read.limit))
    )


def _put_aliases(writing: ScopeWriting, change: PutAliases) -> None:
    connection, partition, session, at = writing.connection, writing.own_id(), to_sql(change.session), micros(change.at)
    gone = [(partition, alias, session) for alias in change.ended]
    connection.executemany("DELETE FROM session_aliases WHERE partition = ? AND alias = ? AND session = ?", gone)
    connection.executemany(_PUT, [(partition, one.alias, session, one.turns, at) for one in change.aliases])
    connection.execute(_SURPLUS, (partition, session, MAX_ALIASES))
    oldest = micros(change.at - timedelta(days=MAX_ALIAS_DAYS))
    connection.execute("DELETE FROM session_aliases WHERE partition = ? AND at < ?", (partition, oldest))


def _forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Removes the aliases of the sessions that are forgotten as a whole."""
    for session, partition in product(change.sessions, partitions):
        gone = (partition.id, to_sql(session))
        transaction.connection.execute("DELETE FROM session_aliases WHERE partition = ? AND session = ?", gone)
        if transaction.connection.changes():
            transaction.erase(partition.id)


ALIAS_KIND = SqlKind(tables=(KindTable("session_aliases", cleared=True),), forget=_forget)


# What was forgotten as a whole: no name is kept, but a hash of the names, and the time.


def remember_sessions(transaction: Transaction, partitions: Iterable[VisiblePartition], change: Forget) -> None:
    """Keeps when these sessions of the partitions were forgotten."""
    for partition in partitions if change.sessions else ():
        names = only(transaction.connection, "SELECT org, agent, user FROM partitions WHERE id = ?", (partition.id,))
        for session in change.sessions:
            remember_forgotten(transaction, change.at, *names, session)


def remember_forgotten(transaction: Transaction, at: datetime, *names: str) -> None:
    """Keeps when what has these names was forgotten: an org, an agent of it, a user of this one ("" for what is agent-wide), a
    session of this user. Times of more than eight days ago are removed."""
    oldest = micros(at - timedelta(days=MAX_FORGOTTEN_DAYS))
    transaction.connection.execute("DELETE FROM forgotten_scopes WHERE at < ?", (oldest,))
    transaction.connection.execute(_NOTED, (_mark(*names), micros(at)))


def _note(writing: ScopeWriting, change: NoteForgotten) -> None:
    scope = writing.scope
    remember_forgotten(writing.transaction, change.at, *((scope.org,) if change.whole_org else (scope.org, scope.agent)))


def _forgotten_since(reading: ScopeReading, read: ForgottenSince) -> bool:
    """The scope may be gone with all that it held."""
    names = (reading.scope.org, reading.scope.agent, reading.scope.user or "", read.session)
    marks = [_mark(*names[:count]) for count in range(1, len(names) + 1)]
    return first(reading.connection, _FORGOTTEN, (to_json(marks), micros(read.since))) is not None


def _mark(*names: str) -> str:
    return scope_mark("forgotten", *names)


ALIAS_READS: Answers = {AliasedSessions: of_own(_aliased, tuple), ForgottenSince: _forgotten_since}
ALIAS_CHANGES: Appliers = {PutAliases: _put_aliases, NoteForgotten: _note}
