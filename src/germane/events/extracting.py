"""Extracting: the memories that the rules find in the new messages of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from germane.errors import InvalidInput
from germane.events.event import Event
from germane.events.prepared_message import PreparedMessage
from germane.memories.extraction.extract import extract
from germane.memories.extraction.extracted import VERSION, Extracted
from germane.memories.extraction.remember_found import extracted_memory
from germane.memories.memory import Memory
from germane.types.candidate import Provenance
from germane.types.scope import Scope

__all__ = ["found_in", "memories_of"]


def found_in(message: PreparedMessage) -> tuple[Extracted, ...]:
    """Returns what a message states; nothing where it isn't in a user's own words. `found` of the message, where the
    extraction was made in advance."""
    if message.found is not None:
        return message.found
    day = "" if message.created_at is None else message.created_at.date().isoformat()
    return extract(message.text, speaker=message.name, day=day) if message.own_words else ()


def memories_of(messages: Sequence[PreparedMessage], events: Sequence[Event], scope: Scope) -> list[Memory]:
    """Returns the memories of these messages, which are stored as `events`, in the order in which they were said."""
    memories = list[Memory]()
    for message, event in zip(messages, events, strict=True):
        for one in found_in(message):
            with suppress(InvalidInput):  # such as a value of nothing but control characters: it isn't worth an error
                memories.append(_memory(one, event, scope))
    return sorted(memories, key=lambda memory: memory.valid_from)


def _memory(one: Extracted, event: Event, scope: Scope) -> Memory:
    metadata = {"extracted": one.rule, "version": VERSION, "share": one.share, "message_hash": event.content_hash}
    if one.condition:
        metadata["condition"] = True
    if event.name:
        metadata["speaker"] = event.name
    return extracted_memory(
        one.text,
        kind=one.kind,
        key=one.key,
        confidence=one.confidence,
        sensitivity=event.sensitivity,
        source=event.id,
        said_at=min(event.created_at, event.recorded_at),
        provenance=Provenance(
            source_kind=event.provenance.source_kind,
            channel=event.provenance.channel,
            session=event.session,
            message_id=event.message_id,
            refs=(event.id,),
            metadata=metadata,
        ),
        scope=scope,
    )
