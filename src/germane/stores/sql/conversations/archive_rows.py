"""Archive rows: entries of the archive and summaries as rows, read and written within one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from germane.compaction.notes import SpanSummary
from germane.kinds.conversations.reads import (
    MAX_SUMMARIES,
    CompactionIds,
    CompactionIdsInUse,
    CompleteOutline,
    EntriesByHandle,
    HandlesForgotten,
    HandlesKept,
    LatestLines,
    LatestSummaries,
    ListOutline,
    OutlineLeft,
    PutArchived,
    PutSummary,
    SummariesKept,
)
from germane.kinds.conversations.value import ArchiveEntry, KeptEntry, KeptSummary, checksum_of
from germane.stores.sql.columns import TEXT, TIME, TUPLE, Column, Derived, Given, RowKey, Table
from germane.stores.sql.connection import Connection
from germane.stores.sql.conversations.outline_lines import latest_lines, outline_left, outline_page, session_key
from germane.stores.sql.conversations.outlines import complete_outline
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.reading import Answers, ScopeReading, of_own
from germane.stores.sql.statements import LISTED, Row, first, from_sql, only, rows, scope_mark, to_json, to_sql
from germane.stores.sql.transaction import Appliers, ScopeWriting

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


def _in_use(reading: ScopeReading, read: CompactionIdsInUse) -> CompactionIds:
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
    return CompactionIds(own, forgotten, frozenset(taken - own.keys()))


# Handles that were forgotten: neither the scope nor the handle is kept, but a hash of both.


def remember_handles(connection: Connection, partition: int, handles: Iterable[str]) -> None:
    """Keeps that these were forgotten here."""
    scope: tuple[str, str, str] = only(connection, "SELECT org, agent, user FROM partitions WHERE id = ?", (partition,))
    marks = [(scope_mark(*scope, handle),) for handle in handles]
    connection.executemany("INSERT OR IGNORE INTO forgotten_handles VALUES (?)", marks)


def _forgotten_handles(reading: ScopeReading, read: HandlesForgotten) -> frozenset[str]:
    """The scope may be gone with all that it held."""
    scope = reading.scope
    marks = {scope_mark(scope.org, scope.agent, scope.user or "", handle): handle for handle in read.handles}
    found = rows(reading.connection, f"SELECT mark FROM forgotten_handles WHERE mark IN {LISTED}", (to_json(list(marks)),))
    return frozenset(marks[mark] for (mark,) in found)


CONVERSATION_READS: Answers = {
    EntriesByHandle: of_own(_entries_by_handle, tuple),
    HandlesKept: of_own(_handles_kept, frozenset),
    HandlesForgotten: _forgotten_handles,
    SummariesKept: of_own(_summaries_kept, tuple),
    LatestSummaries: of_own(_latest_summaries, tuple),
    ListOutline: outline_page,
    LatestLines: latest_lines,
    OutlineLeft: of_own(outline_left, bool, events=True),
    CompactionIdsInUse: _in_use,
}
CONVERSATION_CHANGES: Appliers = {PutArchived: _put_archived, PutSummary: _put_summary, CompleteOutline: _complete_outline}
