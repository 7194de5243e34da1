"""History rows: entries of the archive and summaries as rows, read and written within one partition."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from germane.compaction.archive import ArchiveEntry
from germane.compaction.kept_history import KeptEntry, KeptSummary, checksum_of
from germane.compaction.operations import MAX_SUMMARIES
from germane.compaction.summary import SpanSummary
from germane.stores.sqlite.encoding import LISTED, micros, moment, shown, stored, to_json
from germane.stores.sqlite.rows import Row, first, rows

__all__ = [
    "ARCHIVED",
    "SUMMARY",
    "archived_of",
    "entries_by_handle",
    "handles_kept",
    "latest_summaries",
    "put_archived",
    "put_summary",
    "sound",
    "summaries_kept",
    "summary_of",
]

ARCHIVED = (
    "SELECT id, session, handle, kind, provider, title, previous, part, messages, created_at, checksum FROM history_archive"
    " WHERE partition = ?"
)
"""The rows that `archived_of` takes."""
SUMMARY = (
    "SELECT id, session, covers, ids, text, method, tokens, note, fingerprint, created_at FROM history_summaries"
    " WHERE partition = ?"
)
"""The rows that `summary_of` takes."""
_HANDLES = f"SELECT handle FROM history_archive WHERE partition = ? AND session = ? AND handle IN {LISTED}"
_SURPLUS = (
    "DELETE FROM history_summaries WHERE key IN (SELECT key FROM history_summaries WHERE partition = ? AND session = ?"
    " ORDER BY key DESC LIMIT -1 OFFSET ?)"
)


def archived_of(row: Row) -> KeptEntry:
    """Returns the entry in a row of `ARCHIVED`."""
    id, session, handle, kind, provider, title, previous, part, messages, created_at, _ = row
    entry = ArchiveEntry(
        handle=shown(handle),
        kind=kind,
        provider=shown(provider),
        title=shown(title),
        messages=tuple(json.loads(messages)),
        previous=shown(previous),
        part=part,
    )
    return KeptEntry(id=id, session=shown(session), entry=entry, created_at=moment(created_at))


def sound(row: Row, archived: KeptEntry) -> bool:
    """Whether the messages in a row of `ARCHIVED` are those that were written."""
    return bool(row[10] == checksum_of(archived.entry.messages))


def summary_of(row: Row) -> KeptSummary:
    """Returns the summary in a row of `SUMMARY`."""
    id, session, covers, ids, text, method, tokens, note, fingerprint, created_at = row
    summary = SpanSummary(
        text=shown(text), covers=covers, tokens=tokens, method=method, ids=tuple(json.loads(ids)), note=shown(note)
    )
    return KeptSummary(
        id=id, session=shown(session), summary=summary, fingerprint=shown(fingerprint), created_at=moment(created_at)
    )


def entries_by_handle(
    connection: apsw.Connection, partition: int, handles: Sequence[str], session: str | None
) -> tuple[KeptEntry, ...]:
    """See `HistoryReader.archived`."""
    found: list[KeptEntry] = []
    for handle in dict.fromkeys(handles):
        sql, bound = f"{ARCHIVED} AND handle = ?", [partition, stored(handle)]
        if session is not None:
            sql += " AND session = ?"
            bound.append(stored(session))
        row = first(connection, f"{sql} ORDER BY key DESC LIMIT 1", bound)
        if row is not None and sound(row, archived := archived_of(row)):
            found.append(archived)
    return tuple(found)


def latest_summaries(connection: apsw.Connection, partition: int, session: str, limit: int) -> tuple[KeptSummary, ...]:
    """See `HistoryReader.summaries`."""
    sql = f"{SUMMARY} AND session = ? ORDER BY key DESC LIMIT ?"
    found = [summary_of(row) for row in rows(connection, sql, (partition, stored(session), limit))]
    return tuple(reversed(found))


def handles_kept(connection: apsw.Connection, partition: int, session: str, handles: Sequence[str]) -> frozenset[str]:
    """See `HandlesKept`."""
    found = rows(connection, _HANDLES, (partition, stored(session), to_json(list(handles))))
    return frozenset(shown(handle) for (handle,) in found)


def summaries_kept(
    connection: apsw.Connection, partition: int, session: str, fingerprints: Sequence[str]
) -> tuple[KeptSummary, ...]:
    """See `SummariesKept`."""
    sql = f"{SUMMARY} AND session = ? AND fingerprint IN {LISTED} ORDER BY key"
    return tuple(map(summary_of, rows(connection, sql, (partition, stored(session), to_json(list(fingerprints))))))


def put_archived(connection: apsw.Connection, partition: int, archived: KeptEntry) -> None:
    """See `PutArchived`."""
    entry = archived.entry
    row = (
        archived.id,
        partition,
        stored(archived.session),
        stored(entry.handle),
        entry.kind,
        stored(entry.provider),
        stored(entry.title),
        stored(entry.previous),
        entry.part,
        to_json(list(entry.messages)),
        checksum_of(entry.messages),
        micros(archived.created_at),
    )
    connection.execute(
        "INSERT OR IGNORE INTO history_archive (id, partition, session, handle, kind, provider, title, previous, part,"
        " messages, checksum, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )


def put_summary(connection: apsw.Connection, partition: int, kept: KeptSummary) -> None:
    """See `PutSummary`."""
    summary = kept.summary
    row = (
        kept.id,
        partition,
        stored(kept.session),
        summary.covers,
        to_json(list(summary.ids)),
        stored(summary.text),
        summary.method,
        summary.tokens,
        stored(summary.note),
        stored(kept.fingerprint),
        micros(kept.created_at),
    )
    connection.execute(
        "INSERT OR IGNORE INTO history_summaries (id, partition, session, covers, ids, text, method, tokens, note, fingerprint,"
        " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    connection.execute(_SURPLUS, (partition, stored(kept.session), MAX_SUMMARIES))
