"""History forgetting: selects and deletes a session's archive and summaries: they go with any message of it that is forgotten.

What a compaction took out is the caller's own messages in the provider's shape, and a summary is in words of its own. Neither
tells which stored message it holds something of, so nothing of either stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence

import apsw

from germane.memories.operations import Forget, Select
from germane.stores.sqlite.encoding import LISTED, shown, stored, to_json
from germane.stores.sqlite.rows import Row, only, rows
from germane.stores.sqlite.task_pointers import drop_pointers
from germane.stores.sqlite.tombstones import bury
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["HISTORY_TABLES", "forget_history", "forgotten_handles", "history_of_events", "selected_history"]

HISTORY_TABLES = ("history_archive", "history_summaries")
"""The tables of what is kept of compactions, each with its partition and its session."""
_SESSIONS = (
    "SELECT DISTINCT s.id FROM events e INDEXED BY events_id JOIN sessions s ON s.key = e.session"
    f" WHERE e.id IN {LISTED} AND +e.partition = ?"
)


def selected_history(
    connection: apsw.Connection, partition: VisiblePartition, read: Select, events: Sequence[str]
) -> tuple[str, ...]:
    """Returns the ids of entries and summaries that match ids, handles, a session, the owner or `everything`, and no other
    criterion; and of those that go with `events`."""
    found = dict.fromkeys(history_of_events(connection, partition, events))
    if all(one is None for one in (read.key, read.tag, read.source_kind, read.channel)):
        for table in HISTORY_TABLES:
            sql, bound = f"SELECT id FROM {table} WHERE partition = ?", list[object]([partition.id])
            if read.session is not None:
                sql += " AND session = ?"
                bound.append(stored(read.session))
            if read.ids is not None:
                handle = f" OR handle IN {LISTED}" if table == "history_archive" else ""
                sql += f" AND (id IN {LISTED}{handle})"
                bound += [to_json(read.ids)] * (2 if handle else 1)
            found |= dict.fromkeys(id for (id,) in rows(connection, f"{sql} ORDER BY key", bound))
    return tuple(found)


def history_of_events(connection: apsw.Connection, partition: VisiblePartition, events: Sequence[str]) -> list[str]:
    """Returns the ids of the entries and summaries of the sessions in which these messages stand."""
    if not events:
        return []
    sessions = [session for (session,) in rows(connection, _SESSIONS, (to_json(list(events)), partition.id))]
    sql = " UNION ALL ".join(f"SELECT id FROM {table} WHERE partition = ? AND session = ?" for table in HISTORY_TABLES)
    bound = [(partition.id, session) * len(HISTORY_TABLES) for session in sessions]
    return [id for values in bound for (id,) in rows(connection, sql, values)]


def forget_history(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Deletes the entries and summaries that `change` names, those of its session, and those of the sessions of its messages,
    which must be there still."""
    connection = transaction.connection
    for partition in partitions:
        gone = {*change.history_ids, *history_of_events(connection, partition, change.event_ids)}
        for table in HISTORY_TABLES:
            handle = "handle" if table == "history_archive" else "NULL"
            sql = f"SELECT key, id, {handle} FROM {table} WHERE +partition = ? AND id IN {LISTED}"
            found: list[Row] = list(rows(connection, sql, (partition.id, to_json(list(gone)))))
            sql = f"SELECT key, id, {handle} FROM {table} WHERE partition = ? AND session = ?"
            for session in change.sessions:
                found += rows(connection, sql, (partition.id, stored(session)))
            found = list(dict.fromkeys(found))
            connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key, _, _ in found])
            bury(transaction, table, [(0, id, partition.id) for _, id, _ in found], change)
            handles = [shown(handle) for _, _, handle in found if handle is not None]
            drop_pointers(transaction, handles)
            _remember_handles(connection, partition.id, handles)


def _remember_handles(connection: apsw.Connection, partition: int, handles: Iterable[str]) -> None:
    """Keeps that these were forgotten here."""
    scope: tuple[str, str, str] = only(connection, "SELECT org, agent, user FROM partitions WHERE id = ?", (partition,))
    marks = [(_mark(*scope, handle),) for handle in handles]
    connection.executemany("INSERT OR IGNORE INTO forgotten_handles VALUES (?)", marks)


def forgotten_handles(
    connection: apsw.Connection, org: str, agent: str, user: str | None, handles: Collection[str]
) -> frozenset[str]:
    """See `HistoryReader.forgotten`. The scope may be gone with all that it held."""
    marks = {_mark(org, agent, user or "", handle): handle for handle in handles}
    found = rows(connection, f"SELECT mark FROM forgotten_handles WHERE mark IN {LISTED}", (to_json(list(marks)),))
    return frozenset(marks[mark] for (mark,) in found)


def _mark(*parts: str) -> str:
    """A hash that names neither the scope nor what was archived."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
