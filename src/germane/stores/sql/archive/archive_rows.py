"""Archive rows: entries of the archive and summaries as rows, read and written within one partition."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from germane.compaction.notes import SpanSummary
from germane.kinds.archive.reads import (
    MAX_SUMMARIES,
    CompleteOutline,
    EntriesByHandle,
    HandlesForgotten,
    HandlesKept,
    HistoryIds,
    HistoryIdsInUse,
    LatestLines,
    LatestSummaries,
    ListOutline,
    OutlineLeft,
    PutArchived,
    PutSummary,
    SummariesKept,
)
from germane.kinds.archive.value import ArchiveEntry, KeptEntry, KeptSummary, checksum_of
from germane.kinds.memories.reads import Forget, Select
from germane.stores.sql.archive.outline_lines import latest_lines, outline_left, outline_page, session_key
from germane.stores.sql.archive.outlines import complete_outline
from germane.stores.sql.columns import TEXT, TIME, TUPLE, Column, Derived, Given, RowKey, Table
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.reading import Answers, ScopeReading, of_own
from germane.stores.sql.statements import LISTED, Row, first, from_sql, only, rows, to_json, to_sql
from germane.stores.sql.tasks.task_rows import drop_pointers
from germane.stores.sql.tombstones import bury
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction

ARCHIVE = Table(
    "history_archive",
    KeptEntry,
    (
        RowKey(),
        Column("id"),
        Given("partition"),
        Column("session", TEXT),
        Column("handle", TEXT, field="entry.handle"),
        Column("kind", field="entry.kind"),
        Column("provider", TEXT, field="entry.provider"),
        Column("title", TEXT, field="entry.title"),
        Column("previous", TEXT, field="entry.previous"),
        Column("part", field="entry.part"),
        Column("messages", TUPLE, field="entry.messages"),
        Derived("checksum", lambda archived: checksum_of(archived.entry.messages)),
        Column("created_at", TIME),
    ),
    parts={"entry": ArchiveEntry},
)
archived_of: Callable[[Row], KeptEntry] = ARCHIVE.value
"""Returns the entry in a row of `ARCHIVED`."""
ARCHIVED = f"SELECT {ARCHIVE.selected()}, checksum FROM history_archive WHERE partition = ?"
"""The rows that `archived_of` takes."""
_PUT_ARCHIVED = ARCHIVE.insert("INSERT OR IGNORE")
SUMMARIES = Table(
    "history_summaries",
    KeptSummary,
    (
        RowKey(),
        Column("id"),
        Given("partition"),
        Column("session", TEXT),
        Column("covers", field="summary.covers"),
        Column("ids", TUPLE, field="summary.ids"),
        Column("text", TEXT, field="summary.text"),
        Column("method", field="summary.method"),
        Column("tokens", field="summary.tokens"),
        Column("note", TEXT, field="summary.note"),
        Column("fingerprint", TEXT),
        Column("created_at", TIME),
    ),
    parts={"summary": SpanSummary},
)
summary_of: Callable[[Row], KeptSummary] = SUMMARIES.value
"""Returns the summary in a row of `SUMMARY`."""
SUMMARY = f"SELECT {SUMMARIES.selected()} FROM history_summaries WHERE partition = ?"
"""The rows that `summary_of` takes."""
_PUT_SUMMARY = SUMMARIES.insert("INSERT OR IGNORE")
_HANDLES = f"SELECT handle FROM history_archive WHERE partition = ? AND session = ? AND handle IN {LISTED}"
_SURPLUS = (
    "DELETE FROM history_summaries WHERE key IN (SELECT key FROM history_summaries WHERE partition = ? AND session = ?"
    " ORDER BY key DESC LIMIT -1 OFFSET ?)"
)


def is_unchanged(row: Row, archived: KeptEntry) -> bool:
    """Whether the messages in a row of `ARCHIVED` are those that were written."""
    return bool(row[-1] == checksum_of(archived.entry.messages))


def _entries_by_handle(connection: Connection, own: VisiblePartition, read: EntriesByHandle) -> tuple[KeptEntry, ...]:
    found: list[KeptEntry] = []
    for handle in dict.fromkeys(read.handles):
        sql, bound = f"{ARCHIVED} AND handle = ?", [own.id, to_sql(handle)]
        if read.session is not None:
            sql += " AND session = ?"
            bound.append(to_sql(read.session))
        row = first(connection, f"{sql} ORDER BY key DESC LIMIT 1", bound)
        if row is not None and is_unchanged(row, archived := archived_of(row)):
            found.append(archived)
    return tuple(found)


def _latest_summaries(connection: Connection, own: VisiblePartition, read: LatestSummaries) -> tuple[KeptSummary, ...]:
    sql = f"{SUMMARY} AND session = ? ORDER BY key DESC LIMIT ?"
    found = [summary_of(row) for row in rows(connection, sql, (own.id, to_sql(read.session), read.limit))]
    return tuple(reversed(found))


def _handles_kept(connection: Connection, own: VisiblePartition, read: HandlesKept) -> frozenset[str]:
    found = rows(connection, _HANDLES, (own.id, to_sql(read.session), to_json(list(read.handles))))
    return frozenset(from_sql(handle) for (handle,) in found)


def _summaries_kept(connection: Connection, own: VisiblePartition, read: SummariesKept) -> tuple[KeptSummary, ...]:
    sql = f"{SUMMARY} AND session = ? AND fingerprint IN {LISTED} ORDER BY key"
    return tuple(map(summary_of, rows(connection, sql, (own.id, to_sql(read.session), to_json(list(read.fingerprints))))))


def _put_archived(writing: ScopeWriting, change: PutArchived) -> None:
    partition = writing.own_id()
    writing.connection.execute(_PUT_ARCHIVED, ARCHIVE.cells(change.archived, None, partition))
    writing.transaction.touch((partition,))


def _put_summary(writing: ScopeWriting, change: PutSummary) -> None:
    connection, kept, partition = writing.connection, change.kept, writing.own_id()
    connection.execute(_PUT_SUMMARY, SUMMARIES.cells(kept, None, partition))
    connection.execute(_SURPLUS, (partition, to_sql(kept.session), MAX_SUMMARIES))
    writing.transaction.touch((partition,))


def _complete_outline(writing: ScopeWriting, change: CompleteOutline) -> None:
    writing.write_events()
    partition = writing.own_id()
    key = session_key(writing.connection, partition, change.session)
    if key is not None:
        complete_outline(writing.connection, key)
    writing.transaction.touch((partition,))


# Ids: what is known of those that a restored line has.


_SECOND_LISTED = LISTED.replace("?", "?2")
_OWN = (
    f"SELECT id, session, handle, '' FROM history_archive WHERE partition = ?1 AND id IN {_SECOND_LISTED} UNION ALL"
    f" SELECT id, session, fingerprint, method FROM history_summaries WHERE partition = ?1 AND id IN {_SECOND_LISTED}"
)


def _in_use(reading: ScopeReading, read: HistoryIdsInUse) -> HistoryIds:
    connection, own_partition, wanted = reading.connection, reading.own, to_json(list(read.ids))
    partition = -1 if own_partition is None else own_partition.id
    own = {
        id: (from_sql(session), from_sql(under), method)
        for id, session, under, method in rows(connection, _OWN, (partition, wanted))
    }
    forgotten = frozenset(id for (id,) in rows(connection, f"SELECT id FROM tombstones WHERE id IN {LISTED}", (wanted,)))
    sql = " UNION ALL ".join(
        f"SELECT id FROM {table} WHERE id IN {LISTED}" for table in ("history_archive", "history_summaries")
    )
    taken = {id for (id,) in rows(connection, sql, (wanted, wanted))}
    return HistoryIds(own, forgotten, frozenset(taken - own.keys()))


# A session's archive and summaries are forgotten with any message of it. What a compaction took out is the caller's own
# messages in the provider's shape, and a summary is in words of its own. Neither tells which stored message it holds
# something of, so nothing of either stays.


HISTORY_TABLES = ("history_archive", "history_summaries")
"""The tables of what is kept of compactions, each with its partition and its session."""
_SESSIONS = (
    "SELECT DISTINCT s.id FROM events e INDEXED BY events_id JOIN sessions s ON s.key = e.session"
    f" WHERE e.id IN {LISTED} AND +e.partition = ?"
)


def selected_history(
    connection: Connection, partition: VisiblePartition, read: Select, events: Sequence[str]
) -> tuple[str, ...]:
    """Returns the ids of entries and summaries that match ids, handles, a session, the owner or `everything`, and no other
    criterion; and of those that go with `events`."""
    found = dict.fromkeys(history_of_events(connection, partition, events))
    if all(one is None for one in (read.key, read.tag, read.source_kind, read.channel)):
        for table in HISTORY_TABLES:
            sql, bound = f"SELECT id FROM {table} WHERE partition = ?", list[object]([partition.id])
            if read.session is not None:
                sql += " AND session = ?"
                bound.append(to_sql(read.session))
            if read.ids is not None:
                handle = f" OR handle IN {LISTED}" if table == "history_archive" else ""
                sql += f" AND (id IN {LISTED}{handle})"
                bound += [to_json(read.ids)] * (2 if handle else 1)
            found |= dict.fromkeys(id for (id,) in rows(connection, f"{sql} ORDER BY key", bound))
    return tuple(found)


def history_of_events(connection: Connection, partition: VisiblePartition, events: Sequence[str]) -> list[str]:
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
                found += rows(connection, sql, (partition.id, to_sql(session)))
            found = list(dict.fromkeys(found))
            connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key, _, _ in found])
            bury(transaction, table, [(0, id, partition.id) for _, id, _ in found], change)
            handles = [from_sql(handle) for _, _, handle in found if handle is not None]
            drop_pointers(transaction, handles)
            _remember_handles(connection, partition.id, handles)


def _remember_handles(connection: Connection, partition: int, handles: Iterable[str]) -> None:
    """Keeps that these were forgotten here."""
    scope: tuple[str, str, str] = only(connection, "SELECT org, agent, user FROM partitions WHERE id = ?", (partition,))
    marks = [(_mark(*scope, handle),) for handle in handles]
    connection.executemany("INSERT OR IGNORE INTO forgotten_handles VALUES (?)", marks)


def _forgotten_handles(reading: ScopeReading, read: HandlesForgotten) -> frozenset[str]:
    """The scope may be gone with all that it held."""
    scope = reading.scope
    marks = {_mark(scope.org, scope.agent, scope.user or "", handle): handle for handle in read.handles}
    found = rows(reading.connection, f"SELECT mark FROM forgotten_handles WHERE mark IN {LISTED}", (to_json(list(marks)),))
    return frozenset(marks[mark] for (mark,) in found)


def _mark(*parts: str) -> str:
    """A hash that names neither the scope nor what was archived."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


HISTORY_READS: Answers = {
    EntriesByHandle: of_own(_entries_by_handle, tuple),
    HandlesKept: of_own(_handles_kept, frozenset),
    HandlesForgotten: _forgotten_handles,
    SummariesKept: of_own(_summaries_kept, tuple),
    LatestSummaries: of_own(_latest_summaries, tuple),
    ListOutline: outline_page,
    LatestLines: latest_lines,
    OutlineLeft: of_own(outline_left, bool, events=True),
    HistoryIdsInUse: _in_use,
}
HISTORY_CHANGES: Appliers = {PutArchived: _put_archived, PutSummary: _put_summary, CompleteOutline: _complete_outline}
