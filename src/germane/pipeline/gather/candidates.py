"""Candidates: makes candidates of stored memories and events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import MappingProxyType
from typing import TypeVar

from germane.events.event import Event
from germane.memories.memory import Fact, Memory, Note, Procedure
from germane.search.hit import Found
from germane.types.candidate import Candidate, Outdated
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.unread import Unread

__all__ = ["from_event", "from_memory", "offered", "verbatim"]

T = TypeVar("T", Event, Memory)


def from_memory(memory: Memory, source: str, evidence: Evidence, *, required: bool = False, position: int = 0) -> Candidate:
    """A candidate of a typed memory; its category and its kind are the candidate's kinds."""
    return Candidate(
        id=memory.id,
        source=source,
        category=memory.category,
        text=memory.text,
        created_at=memory.updated_at,
        kinds=(memory.category, memory.kind),
        evidence=evidence._replace(curated=_curated(memory)),
        confidence=memory.confidence if memory.stale_since is None else memory.confidence * _STALE,
        stale_since=memory.stale_since,
        helpful=memory.helpful,
        harmful=memory.harmful,
        retrievals=memory.retrieval_count,
        sensitivity=memory.sensitivity,
        required=required,
        title=_title(memory),
        position=position,
        content_hash=memory.content_hash,
        near_duplicates=memory.near_duplicates,
        provenance=memory.provenance,
    )


def _title(memory: Memory) -> str:
    match memory.content:
        case Fact(key=key):
            return key
        case Note(title=title) | Procedure(title=title):
            return title
        case _:
            return ""


_STALE = 0.5
"""The share of its confidence that a stale memory keeps."""
_EXTRACTED = MappingProxyType({"behavior": 1.0, "preference": 1.0, "fact": 0.5})
"""How purposely what rules found was stated, by kind; the others like any message. Measured: docs/research/extraction.md."""


def _curated(memory: Memory) -> float:
    """How purposely a memory was stated. What rules found counts by its kind; what people tell one another, no more than any
    other message."""
    about = memory.provenance.metadata
    if "extracted" not in about:
        return 1.0
    return 0.0 if "speaker" in about and memory.kind != "behavior" else _EXTRACTED.get(memory.kind, 0.0)


def from_event(event: Event, source: str, evidence: Evidence, *, at: datetime | None = None) -> Candidate:
    """A candidate of a stored message; its category is `conversation`, its kind `event`. `at` is the time asked about."""
    replaced = [one for one in event.outdated if at is None or one.since <= at]
    return Candidate(
        id=event.id,
        source=source,
        category="conversation",
        text=event.text,
        created_at=event.created_at,
        kinds=("event",),
        evidence=evidence,
        sensitivity=event.sensitivity,
        speaker=event.name,
        role=event.role,
        session=event.session,
        session_started_at=event.session_started_at,
        session_number=event.session_number,
        position=event.position,
        content_hash=event.content_hash,
        provenance=event.provenance,
        passage=event.passage,
        outdated=Outdated(replaced[0].since, tuple(dict.fromkeys(one.names[0] for one in replaced))) if replaced else None,
    )


def offered(
    found: Found[T], source: str, query: Query, make: Callable[[T, str, Evidence], Candidate]
) -> list[Candidate | Unread]:
    """What a search found, as its source offers it."""
    offers: list[Candidate | Unread] = [*found.unread]
    offers += [make(hit.thing, source, verbatim(query, hit.thing.text, hit.evidence)) for hit in found.hits]
    return offers


def verbatim(query: Query, text: str, evidence: Evidence) -> Evidence:
    """`evidence` with the fraction of the query's identifiers and quoted phrases that the text contains verbatim, ignoring
    case; unchanged for a query without any."""
    wanted = (*query.identifiers, *query.phrases)
    if not wanted:
        return evidence
    low = text.casefold()
    return evidence._replace(identifier=sum(name.casefold() in low for name in wanted) / len(wanted))
