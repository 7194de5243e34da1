"""Document rows: reads and lists documents, and runs the reads and changes of plans about them.

A document is a session of the table `sessions` whose column `document` holds its mark, as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.documents.reads import (
    DocumentContents,
    DocumentIn,
    DocumentMark,
    ListDocuments,
    MarkOfDocument,
    PassagesOfDocument,
    PlacePassages,
    PutMark,
    StoredPassage,
)
from germane.kinds.documents.value import DocumentPage, KeptDocument, source_of
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import SECRET, Listing, VisiblePartition, in_clause, merge_rows, owners
from germane.stores.sql.reading import Answers, ScopeReading, nothing, of_own
from germane.stores.sql.statements import (
    Row,
    first,
    from_json,
    from_sql,
    maybe_moment,
    micros,
    moment,
    only,
    provenance_of,
    rows,
    sensitivity_of,
    to_json,
    to_sql,
    written_provenance,
)
from germane.stores.sql.transaction import Appliers, ScopeWriting
from germane.types.query import Filters

_DOCUMENT = "SELECT partition, id, document, length, started_at, key FROM sessions WHERE document IS NOT NULL"
_STARTED, _KEY = 4, 5
"""Columns of its rows."""
_PASSAGES = (
    "SELECT id, position, content_hash, sensitivity, provenance, created_at FROM events WHERE session = ? ORDER BY position"
)


def _page(reading: ScopeReading, read: ListDocuments) -> DocumentPage:
    limit, cursor = read.limit, read.cursor
    if limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {limit}")
    listing = Listing(only(reading.connection, SECRET)[0], reading.scope, Filters(), "documents")
    visible = reading.visible
    sql, bound = f"{_DOCUMENT} AND partition = ?", list[int]()
    if cursor is not None:
        sql += " AND (started_at, key) < (?, ?)"
        bound += listing.position(cursor)
    sql += " ORDER BY started_at DESC, key DESC"

    def newest(partition: VisiblePartition) -> Iterator[Row]:
        return rows(reading.connection, sql, (partition.id, *bound))

    found = list(islice(merge_rows(visible, newest, lambda row: row[_STARTED : _KEY + 1], descending=True), limit + 1))
    users, last = owners(visible), found[limit - 1] if len(found) > limit else None
    documents = tuple(_kept(row, users) for row in found[:limit])
    return DocumentPage(documents=documents, cursor=None if last is None else listing.cursor(last[_STARTED], last[_KEY]))


def _document(reading: ScopeReading, read: DocumentIn) -> KeptDocument | None:
    visible = reading.visible
    sql = f"{_DOCUMENT} AND partition IN {in_clause(visible)} AND id = ?"
    found = list(rows(reading.connection, sql, (to_sql(read.session),)))
    users = owners(visible)
    kept = sorted((_kept(row, users) for row in found), key=lambda document: document.user is None)
    return kept[0] if kept else None


def _contents(connection: Connection, own: VisiblePartition, read: PassagesOfDocument) -> DocumentContents | None:
    session = _session(connection, own.id, read.session)
    if session is None:
        return None
    key, document, started_at = session
    found, passages = rows(connection, _PASSAGES, (key,)), list[StoredPassage]()
    base = moment(started_at)
    for id, position, content_hash, sensitivity, provenance, created_at in found:
        place = provenance_of(provenance, session=read.session, message_id=None).metadata
        if not passages:
            base = moment(created_at) - timedelta(microseconds=position)
        passages.append(StoredPassage(id, position, content_hash, sensitivity_of(sensitivity), place))
    return DocumentContents(mark=None if document is None else _mark(document), base=base, passages=tuple(passages))


def _mark_of(connection: Connection, own: VisiblePartition, read: MarkOfDocument) -> DocumentMark | None:
    session = _session(connection, own.id, read.session)
    return None if session is None or session[1] is None else _mark(session[1])


def _put_mark(writing: ScopeWriting, change: PutMark) -> None:
    writing.write_events()
    partition, mark = writing.own_id(), change.mark
    document = {
        "title": mark.title,
        "media_type": mark.media_type,
        "size": mark.size,
        "digest": mark.digest,
        "writer": mark.writer,
        "updated_at": None if mark.updated_at is None else micros(mark.updated_at),
    }
    sql = "UPDATE sessions SET document = ? WHERE partition = ? AND id = ? AND document IS NOT NULL"
    writing.connection.execute(sql, (to_json(document), partition, to_sql(change.session)))
    writing.transaction.touch((partition,))


def _place_passages(writing: ScopeWriting, change: PlacePassages) -> None:
    """Replaces the metadata in the provenance of the passages; what else it holds stays."""
    writing.write_events()
    connection, partition = writing.connection, writing.own_id()
    for id, metadata in change.places:
        row = first(connection, "SELECT provenance FROM events WHERE id = ? AND +partition = ?", (id, partition))
        if row is None:
            continue
        known = {"session": change.session, "message_id": None}
        provenance = provenance_of(to_json((from_json(row[0]) or {}) | {"metadata": dict(metadata)}), **known)
        sql = "UPDATE events SET provenance = ? WHERE id = ? AND +partition = ?"
        connection.execute(sql, (written_provenance(provenance, **known), id, partition))
    writing.transaction.touch((partition,))


def _session(connection: Connection, partition: int, id: str) -> Row | None:
    sql = "SELECT key, document, started_at FROM sessions WHERE partition = ? AND id = ?"
    return first(connection, sql, (partition, to_sql(id)))


def _kept(row: Row, users: dict[int, str | None]) -> KeptDocument:
    partition, id, document, length, started_at, _ = row
    session, mark, began = from_sql(id), _mark(document), moment(started_at)
    return KeptDocument(
        source=source_of(session),
        session=session,
        user=users[partition],
        title=mark.title or source_of(session),
        media_type=mark.media_type,
        passages=length,
        size=mark.size,
        ingested_at=began,
        updated_at=mark.updated_at or began,
        complete=not mark.writer,
    )


def _mark(document: str) -> DocumentMark:
    known: dict[str, Any] = from_json(document)
    return DocumentMark(
        title=known.get("title") or "",
        media_type=known.get("media_type") or "",
        size=known.get("size") or 0,
        digest=known.get("digest") or "",
        writer=known.get("writer") or "",
        updated_at=maybe_moment(known.get("updated_at")),
    )


DOCUMENT_READS: Answers = {
    ListDocuments: _page,
    DocumentIn: _document,
    PassagesOfDocument: of_own(_contents, nothing, events=True),
    MarkOfDocument: of_own(_mark_of, nothing, events=True),
}
DOCUMENT_CHANGES: Appliers = {PutMark: _put_mark, PlacePassages: _place_passages}
