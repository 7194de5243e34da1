"""Reads: what a store answers about documents: reads and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from germane.kinds.documents.value import DocumentPage, KeptDocument
from germane.types.candidate import Sensitivity
from germane.types.plan import Change, Read, TextOf


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMark:
    """What is kept of a document beside its passages. `digest` stands for the content and all that decides on its passages; ''
    while they aren't complete. `writer` names the ingestion that writes it; '' where none does."""

    title: str = ""
    media_type: str = ""
    size: int = 0
    digest: str = ""
    writer: str = ""
    updated_at: datetime | None = None


class StoredPassage(NamedTuple):
    """A stored passage without its text; `place` is the metadata of its provenance."""

    id: str
    position: int
    content_hash: int
    sensitivity: Sensitivity
    place: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContents:
    """A session as an ingestion finds it: the document's mark (None: it is a conversation), the time of position 0, and the
    passages in order."""

    mark: DocumentMark | None
    base: datetime
    passages: tuple[StoredPassage, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ListDocuments(Read[DocumentPage]):
    """A page of at most `limit` documents that the scope sees, the one that was ingested last first. `cursor` is that of the
    page before. Raises `InvalidInput` for a limit below 1 or a cursor of another listing."""

    limit: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentIn(Read[KeptDocument | None]):
    """The document in the session of this name, the user's before the agent-wide one; None where there is none."""

    session: str


@dataclass(frozen=True, slots=True)
class PassagesOfDocument(Read[DocumentContents | None]):
    """The session of this name of the scope's own user; None where there is none."""

    session: str


@dataclass(frozen=True, slots=True)
class MarkOfDocument(Read[DocumentMark | None]):
    """The mark of the document in this session of the scope's own user; None where there is none."""

    session: str


@dataclass(frozen=True, slots=True)
class PutMark(Change):
    """Replaces the mark of the document in this session, which must exist."""

    text_of: ClassVar[TextOf] = "its_owner"
    session: str
    mark: DocumentMark


@dataclass(frozen=True, slots=True)
class PlacePassages(Change):
    """Changes where passages of the scope's own user stand in their document: pairs of an id and the metadata of its
    provenance. Their texts and search rows stay."""

    text_of: ClassVar[TextOf] = "its_owner"
    session: str
    places: tuple[tuple[str, Mapping[str, Any]], ...]
