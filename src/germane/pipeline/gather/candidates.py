"""Candidates out of what is stored: the one place where memories and events become items."""

from __future__ import annotations

from dataclasses import replace

from germane.events.event import Event
from germane.memories.memory import Memory
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query

__all__ = ["from_event", "from_memory", "verbatim"]


def from_memory(memory: Memory, source: str, evidence: Evidence, *, required: bool = False) -> Candidate:
    return Candidate(
        id=memory.id,
        source=source,
        category=memory.category,
        text=memory.text,
        created_at=memory.updated_at,
        kinds=(memory.category,),
        evidence=replace(evidence, curated=1.0),
        confidence=memory.confidence,
        helpful=memory.helpful,
        harmful=memory.harmful,
        retrievals=memory.retrieval_count,
        sensitivity=memory.sensitivity,
        required=required,
        content_hash=memory.content_hash,
        provenance=memory.provenance,
    )


def from_event(event: Event, source: str, evidence: Evidence) -> Candidate:
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
    )


def verbatim(query: Query, text: str, evidence: Evidence) -> Evidence:
    """With the share of the query's identifiers and quoted phrases that the text holds letter for letter."""
    wanted = (*query.identifiers, *query.phrases)
    if not wanted:
        return evidence
    low = text.casefold()
    return replace(evidence, identifier=sum(one.casefold() in low for one in wanted) / len(wanted))
