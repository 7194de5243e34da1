"""Extracting: what the rules find in the new messages of a recording: memories, what is ended, and what is corrected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

from germane.errors import InvalidInput
from germane.events.event import Event
from germane.events.prepared_message import PreparedMessage
from germane.memories.extraction.correct_found import SaidCorrection
from germane.memories.extraction.corrections import find_corrections
from germane.memories.extraction.end_found import SaidEnding
from germane.memories.extraction.endings import find_endings
from germane.memories.extraction.extract import extract
from germane.memories.extraction.extracted import VERSION, Extracted, MessageReading, extracted_memory
from germane.memories.extraction.restating import restating_terms
from germane.memories.memory import Memory
from germane.types.scope import Scope

__all__ = ["corrections_of", "endings_of", "found_in", "memories_of"]

_NOTHING = MessageReading()


def found_in(message: PreparedMessage) -> MessageReading:
    """Returns what a message says; nothing where it isn't in a user's own words. `found` of the message, where it was read in
    advance."""
    if message.found is not None:
        return message.found
    if not message.own_words:
        return _NOTHING
    day = "" if message.created_at is None else message.created_at.date().isoformat()
    endings = find_endings(message.text)
    return MessageReading(
        stated=extract(message.text, speaker=message.name, day=day),
        endings=endings,
        corrections=find_corrections(message.text),
        restating=restating_terms(message.text, endings),
    )


def memories_of(messages: Sequence[PreparedMessage], events: Sequence[Event], scope: Scope) -> list[Memory]:
    """Returns the memories of these messages, which are stored as `events`, in the order in which they were said."""
    memories = list[Memory]()
    for message, event in zip(messages, events, strict=True):
        for one in found_in(message).stated:
            with suppress(InvalidInput):  # such as a value of nothing but control characters: it isn't worth an error
                memories.append(_memory(one, event, scope))
    return sorted(memories, key=lambda memory: memory.valid_from)


def endings_of(messages: Sequence[PreparedMessage], events: Sequence[Event], scope: Scope) -> Iterator[SaidEnding]:
    """Yields what these messages say to have ended or changed."""
    for message, event in zip(messages, events, strict=True):
        for ending in found_in(message).endings:
            yield SaidEnding(
                ending=ending,
                source=event.id,
                said_at=event.said_at,
                sensitivity=event.sensitivity,
                provenance=event.source_of({}),
                scope=scope,
            )


def corrections_of(
    messages: Sequence[PreparedMessage], events: Sequence[Event], scope: Scope, before: str | None
) -> Iterator[SaidCorrection]:
    """Yields what these messages correct. `before` is the id of the user's last message before them, where it is known."""
    users = accumulate(events, lambda last, event: event.id if event.role == "user" else last, initial=before)
    for message, event, previous in zip(messages, events, users, strict=False):
        for correction in found_in(message).corrections:
            about = (event.id, previous) if correction.start else (previous,)
            yield SaidCorrection(
                correction=correction,
                source=event.id,
                about=tuple(id for id in about if id is not None),
                said_at=event.said_at,
                scope=scope,
            )


def _memory(one: Extracted, event: Event, scope: Scope) -> Memory:
    metadata: dict[str, Any] = {"extracted": one.rule, "version": VERSION, "share": one.share}
    if one.condition:
        metadata["condition"] = True
    return extracted_memory(
        one.text,
        kind=one.kind,
        key=one.key,
        confidence=one.confidence,
        sensitivity=event.sensitivity,
        source=event.id,
        said_at=event.said_at,
        provenance=event.source_of(metadata),
        scope=scope,
    )
