"""Ingest: the plans that store the passages of a document, and replace those of its earlier version.

A document has no history: what its file doesn't hold any more is forgotten. Passages that stay the same keep their ids. A short
document is replaced in one transaction; of a long one, what is gone goes with the first slice, so that nothing outdated is
shown, and an interrupted ingestion is completed by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from germane.documents.document import source_of
from germane.documents.operations import (
    DocumentContents,
    DocumentMark,
    MarkOfDocument,
    PassagesOfDocument,
    PlacePassages,
    PutMark,
)
from germane.documents.passage import DocumentPassage
from germane.documents.placement import place
from germane.errors import Conflict
from germane.events.event import DOCUMENT, Event
from germane.events.operations import PutEvent
from germane.memories.operations import Forget
from germane.search.unit import Analysis
from germane.text.normal import content_hash
from germane.types.candidate import Provenance, Sensitivity
from germane.types.ids import uuid7
from germane.types.limits import shown
from germane.types.plan import Change, Decision, Plan, read
from germane.types.scope import Scope

__all__ = ["DocumentUpdate", "NewPassage", "begin_document", "read_document", "update_of", "write_document"]


class NewPassage(NamedTuple):
    """A passage as it is to be stored. `text` has the title and the path in its first line."""

    passage: DocumentPassage
    text: str
    sensitivity: Sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentUpdate:
    """What an ingestion changes: `new` are the passages to be added, each with its position; `moved` those that stay, where
    their place in the document is another one; `gone` the ids of those that go."""

    base: datetime
    new: tuple[tuple[NewPassage, int], ...] = field(repr=False)
    moved: PlacePassages
    gone: tuple[str, ...] = field(repr=False)
    kept: int


def read_document(session: str) -> Plan[DocumentContents | None]:
    """Reads what is stored in the session of a document. Changes nothing. Raises `Conflict` where a conversation has its
    name."""
    found = yield from read(PassagesOfDocument(session))
    if found is not None and found.mark is None:
        raise Conflict(f"session {shown(session)} is a conversation: give the document another source, or forget the session")
    return Decision((), found)


def begin_document(session: str, digest: str, writer: str) -> Plan[DocumentContents | None]:
    """Begins an ingestion: reads what is stored and, unless that has the same `digest`, marks the document as being written by
    `writer`. Raises `Conflict` as `read_document` does."""
    found = (yield from read_document(session)).outcome
    if found is None or found.mark is None or found.mark.digest == digest:
        return Decision((), found)
    mark = DocumentMark(
        title=found.mark.title,
        media_type=found.mark.media_type,
        size=found.mark.size,
        writer=writer,
        updated_at=found.mark.updated_at,
    )
    return Decision((PutMark(session, mark),), found)


def update_of(
    stored: DocumentContents | None, new: Sequence[NewPassage], *, session: str, mark: DocumentMark, now: datetime
) -> DocumentUpdate:
    """Returns what has to change for the document to have the `new` passages."""
    old = () if stored is None else stored.passages
    keys = [(content_hash("", one.text), one.sensitivity) for one in new]
    placed = place([((one.content_hash, one.sensitivity), one.position) for one in old], keys)
    metadata = {index: new[index].passage.metadata(mark.title, mark.media_type) for index in placed.kept}
    moved = [
        (old[at].id, {**old[at].place, **metadata[index]})
        for index, at in placed.kept.items()
        if any(old[at].place.get(name) != value for name, value in metadata[index].items())
    ]
    stay = set(placed.kept.values())
    return DocumentUpdate(
        base=stored.base if stored is not None and old else now,
        new=tuple((new[index], position) for index, position in sorted(placed.positions.items())),
        moved=PlacePassages(session, tuple(moved)),
        gone=tuple(one.id for number, one in enumerate(old) if number not in stay),
        kept=len(stay),
    )


def write_document(
    update: DocumentUpdate,
    part: slice,
    analyses: Sequence[tuple[Analysis, ...]],
    *,
    scope: Scope,
    mark: DocumentMark,
    expected: str | None,
    make_id: Callable[[int], str] = uuid7,
) -> Plan[None]:
    """Writes a part of the new passages, whose `analyses` are given; with the first part also what moved and what goes. `mark`
    says whether more follows (`writer`) or the document is complete (`digest`). Raises `Conflict` where the document is being
    written by somebody else than `expected` (None: it must not exist)."""
    session, now = update.moved.session, mark.updated_at or update.base
    found = yield from read(MarkOfDocument(session))
    if (None if found is None else found.writer) != expected:
        raise Conflict(f"{shown(source_of(session))} was ingested by another call meanwhile: ingest it again")
    events = [_event(one, position, update, scope, mark, now, make_id) for one, position in update.new[part]]
    changes: list[Change] = [PutEvent(event, analysis) for event, analysis in zip(events, analyses, strict=True)]
    if not part.start:
        changes += [update.moved] if update.moved.places else []
        changes += [Forget(event_ids=update.gone, at=now, reason="the document changed")] if update.gone else []
    return Decision((*changes, PutMark(session, mark)), None)


def _event(
    new: NewPassage,
    position: int,
    update: DocumentUpdate,
    scope: Scope,
    mark: DocumentMark,
    now: datetime,
    make_id: Callable[[int], str],
) -> Event:
    session = update.moved.session
    return Event(
        id=make_id(int(now.timestamp() * 1000)),
        type=DOCUMENT,
        user=scope.user,
        session=session,
        position=position,
        text=new.text,
        created_at=update.base + timedelta(microseconds=position),
        recorded_at=now,
        sensitivity=new.sensitivity,
        content_hash=content_hash("", new.text),
        provenance=Provenance(
            source_kind="import",
            channel=DOCUMENT,
            session=session,
            metadata=new.passage.metadata(mark.title, mark.media_type),
        ),
    )
