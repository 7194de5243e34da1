"""Document: a stored document, what an ingestion did, and the session that holds the passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from germane.errors import InvalidInput
from germane.events.event import DOCUMENT
from germane.types.limits import DOCUMENT_SOURCE
from germane.types.limits import text as string
from germane.types.scope import Scope

__all__ = ["DocumentPage", "Ingested", "KeptDocument", "document_session", "is_document_session", "source_of"]

_PREFIX = f"{DOCUMENT}:"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDocument:
    """A document of one user (None: agent-wide). `source` is what it was ingested as, by which it is found and replaced;
    `session` is the name of the session that holds its passages; `size` counts the bytes of what was ingested, 0 where that
    isn't known. `complete` is False where an ingestion was interrupted: ingesting the document again completes it."""

    source: str
    session: str
    user: str | None
    title: str
    media_type: str
    passages: int
    size: int
    ingested_at: datetime
    updated_at: datetime
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """One page of a listing of documents. `cursor` continues the listing; None on the last page."""

    documents: tuple[KeptDocument, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What an ingestion did: how many passages were `added`, `kept` as they were, and `removed` because the document doesn't
    hold them any more. `secrets` counts the secrets that were found, by kind. After a dry run nothing of it has happened."""

    source: str
    session: str
    title: str
    media_type: str
    outcome: Literal["added", "changed", "unchanged"]
    added: int = 0
    kept: int = 0
    removed: int = 0
    size: int = 0
    secrets: Mapping[str, int] = field(default_factory=dict, hash=False)
    dry_run: bool = False


def document_session(source: object) -> str:
    """Returns the name of a document's session. Raises `InvalidInput` for a source that can't be used."""
    given = string("source", source, DOCUMENT_SOURCE)
    if not given.strip():
        raise InvalidInput("source is blank: give the document's path, address or name")
    return Scope(session=f"{_PREFIX}{given}").session or ""


def is_document_session(session: str) -> bool:
    """Whether a session's name is reserved for documents."""
    return session.startswith(_PREFIX)


def source_of(session: str) -> str:
    """Returns the source of the document that is kept in a session with this name."""
    return session.removeprefix(_PREFIX)
