"""Conversation kind: what the operations on all kinds do to archived messages, summaries of sessions, and lines of outlines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from germane.kinds.conversations.outline import first_id_of_outline_name, line_hash, outline_name
from germane.kinds.conversations.value import KeptEntry, checksum_of
from germane.kinds.memories.reads import Forget, Select
from germane.stores.sql.connection import Connection
from germane.stores.sql.conversations.archive_rows import ARCHIVED, SUMMARY, archived_of, remember_handles, summary_of
from germane.stores.sql.kind import Counted, Finding, Found, GateQuestion, KindTable, SqlKind, of_ids
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, visible_ids
from germane.stores.sql.statements import LISTED, Row, from_sql, only, rows, sensitivity_of, to_json, to_sql
from germane.stores.sql.tasks.task_rows import drop_pointers
from germane.stores.sql.tombstones import bury
from germane.stores.sql.transaction import Transaction

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Thing

_TABLES = ("history_archive", "history_summaries")
_KEPT = "SELECT count(*), total(octet_length({})) FROM {} WHERE partition IN {}"
_OUTLINES = (
    "SELECT count(*), total(octet_length(line)) FROM sessions s JOIN history_outlines o ON o.session = s.key WHERE s.partition"
    " IN {} AND s.document IS NULL"
)


def _dump(connection: Connection, partition: int, owner: Owner) -> Iterator[Thing]:
    """Yields what compactions took out, and then the summaries. Lines of outlines are made from the messages."""
    for row in rows(connection, f"{ARCHIVED} ORDER BY key", (partition,)):
        yield archived_of(row)
    for row in rows(connection, f"{SUMMARY} ORDER BY key", (partition,)):
        yield summary_of(row)


def _size(thing: Thing) -> int:
    return sum(len(str(message)) for message in thing.entry.messages) if isinstance(thing, KeptEntry) else 0


def _count(connection: Connection, here: str, at: datetime) -> Counted:
    archived, archived_bytes = only(connection, _KEPT.format("messages", "history_archive", here))
    summaries, summary_bytes = only(connection, _KEPT.format("text", "history_summaries", here))
    lines, line_bytes = only(connection, _OUTLINES.format(here))
    fields = {"archived": archived, "summaries": summaries, "outline_lines": lines}
    return Counted(fields, archived_bytes + summary_bytes + line_bytes)


# A session's archive and summaries are forgotten with any message of it. What a compaction took out is the caller's own
# messages in the provider's shape, and a summary is in words of its own. Neither tells which stored message it holds
# something of, so nothing of either stays.


_SESSIONS = (
    "SELECT DISTINCT s.id FROM events e INDEXED BY events_id JOIN sessions s ON s.key = e.session"
    f" WHERE e.id IN {LISTED} AND +e.partition = ?"
)


def _select(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """Returns the ids of entries and summaries that match ids, handles, a session, the owner or `everything`, and no other
    criterion."""
    if any(one is not None for one in (read.key, read.tag, read.source_kind, read.channel)):
        return ()
    found = list[str]()
    for table in _TABLES:
        sql, bound = f"SELECT id FROM {table} WHERE partition = ?", list[object]([partition.id])
        if read.session is not None:
            sql += " AND session = ?"
            bound.append(to_sql(read.session))
        if read.ids is not None:
            handle = f" OR handle IN {LISTED}" if table == "history_archive" else ""
            sql += f" AND (id IN {LISTED}{handle})"
            bound += [to_json(read.ids)] * (2 if handle else 1)
        found += [id for (id,) in rows(connection, f"{sql} ORDER BY key", bound)]
    return tuple(found)


def _of_events(connection: Connection, partition: VisiblePartition, found: Found) -> list[str]:
    """Returns the ids of the entries and summaries of the sessions in which the messages stand that were found."""
    return _in_sessions_of(connection, partition, tuple(found["event_ids"]))


def _in_sessions_of(connection: Connection, partition: VisiblePartition, events: Sequence[str]) -> list[str]:
    if not events:
        return []
    sessions = [session for (session,) in rows(connection, _SESSIONS, (to_json(list(events)), partition.id))]
    sql = " UNION ALL ".join(f"SELECT id FROM {table} WHERE partition = ? AND session = ?" for table in _TABLES)
    bound = [(partition.id, session) * len(_TABLES) for session in sessions]
    return [id for values in bound for (id,) in rows(connection, sql, values)]


def _forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Deletes the entries and summaries that `change` names, those of its session, and those of the sessions of its messages,
    which must be there still."""
    connection = transaction.connection
    for partition in partitions:
        gone = {*change.compaction_ids, *_in_sessions_of(connection, partition, change.event_ids)}
        for table in _TABLES:
            handle = "handle" if table == "history_archive" else "NULL"
            sql = f"SELECT key, id, {handle} FROM {table} WHERE +partition = ? AND id IN {LISTED}"
            found: list[Row] = list(rows(connection, sql, (partition.id, to_json(list(gone)))))
            sql = f"SELECT key, id, {handle} FROM {table} WHERE partition = ? AND session = ?"
            for session in change.sessions:
                found += rows(connection, sql, (partition.id, to_sql(session)))
            found = list(dict.fromkeys(found))
            connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key, _, _ in found])
            bury(transaction, table, [(0, id, partition.id) for _, id, _ in found], change)
            handles = [from_sql(handle) for _, _, handle in found if handle is not None]
            drop_pointers(transaction, handles)
            remember_handles(connection, partition.id, handles)


# The gate: a line of an outline is named with the first message of its exchange; the hash is of its text.


_LINES = (
    "SELECT e.id, o.line, o.sensitivity FROM events e INDEXED BY events_id"
    " JOIN history_outlines o ON o.session = e.session AND o.first = e.position AND o.messages > 1"
    f" WHERE e.id IN {LISTED} AND +e.partition IN " + IN_VISIBLE
)


def _is_line(name: str) -> bool:
    return first_id_of_outline_name(name) is not None


def _shown(asked: GateQuestion, names: Sequence[str]) -> Mapping[str, int]:
    ids = sorted({id for name in names if (id := first_id_of_outline_name(name)) is not None})
    found = rows(asked.connection, _LINES, (to_json(ids), *visible_ids(asked.visible)))
    return {
        outline_name(id): line_hash(id, from_sql(line))
        for id, line, level in found
        if sensitivity_of(level) in asked.filters.sensitivities
    }


# The doctor compares the archived messages with the checksums that are stored with them.


def _verify(connection: Connection) -> Finding:
    total = changed = 0
    for messages, checksum in rows(connection, "SELECT messages, checksum FROM history_archive"):
        total += 1
        changed += not _checksum_matches(messages, checksum)
    if changed:
        return ("archive", f"{changed} of {total} entries differ from the checksum stored with them: restore a backup", False)
    return ("archive", f"{total} entries are as they were stored", True)


def _checksum_matches(messages: str, checksum: str) -> bool:
    try:
        return checksum_of(json.loads(messages)) == checksum
    except ValueError:
        return False


_AT = "NOT EXISTS (SELECT 1 FROM events e WHERE e.session = o.session AND e.position = o.{})"

CONVERSATION_KIND = SqlKind(
    tables=(
        KindTable("history_archive", "archived", keeps="owner", exported="archived", changed="created_at"),
        KindTable("history_summaries", "summary", keeps="owner", exported="summaries", changed="created_at"),
    ),
    dump=_dump,
    size=_size,
    count=_count,
    ids="compaction_ids",
    select=_select,
    following=_of_events,
    forget=_forget,
    remains={"archived messages": (of_ids("history_archive"),), "summaries": (of_ids("history_summaries"),)},
    shown=_shown,
    named=_is_line,
    orphans={
        "lines of outlines without their messages": f"history_outlines o WHERE {_AT.format('first')} OR {_AT.format('last')}",
        "outlines that lack messages": (
            "sessions s WHERE s.document IS NULL AND (SELECT count(*) FROM events WHERE session = s.key AND position >= 0 AND"
            " position < s.outlined) <> (SELECT total(messages) FROM history_outlines WHERE session = s.key)"
        ),
    },
    verify=_verify,
)
