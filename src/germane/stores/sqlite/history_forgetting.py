"""History forgetting: selects and deletes a session's archive and summaries: they go with any message of it that is forgotten.

What a compaction took out is the caller's own messages in the provider's shape, and a summary is in words of its own. Neither
tells which stored message it holds something of, so nothing of either stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from germane.memories.operations import Forget, Select
from germane.stores.sqlite.encoding import LISTED, micros, stored, to_json
from germane.stores.sqlite.rows import Row, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["HISTORY_TABLES", "forget_history", "history_of_events", "selected_history"]

HISTORY_TABLES = ("history_archive", "history_summaries")
"""The tables of what is kept of compactions, each with its partition and its session."""
_TOMBSTONE = "INSERT OR REPLACE INTO tombstones VALUES (?, ?, 0, ?, ?, ?, ?, ?)"
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
    said = (micros(change.at), stored(change.by), stored(change.reason))
    for partition in partitions:
        gone = {*change.history_ids, *history_of_events(connection, partition, change.event_ids)}
        for table in HISTORY_TABLES:
            found: list[Row] = list(
                rows(
                    connection,
                    f"SELECT key, id FROM {table} WHERE +partition = ? AND id IN {LISTED}",
                    (partition.id, to_json(list(gone))),
                )
            )
            if change.session is not None:
                sql = f"SELECT key, id FROM {table} WHERE partition = ? AND session = ?"
                found = list(dict.fromkeys([*found, *rows(connection, sql, (partition.id, stored(change.session)))]))
            connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key, _ in found])
            stones = [(id, table, partition.id, transaction.revision, *said) for _, id in found]
            connection.executemany(_TOMBSTONE, stones)
            if found:
                transaction.erase(partition.id)
