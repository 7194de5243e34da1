"""Extraction: what a user's own words tell: memories, what is ended or corrected, and clauses of the profile (PERSON-1).

A message tells the same however it came into the store: recorded, imported, restored, or stored by an earlier version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import Any

from germane.errors import InvalidInput
from germane.extraction.memories.endings import find_endings, restating_terms
from germane.extraction.memories.extract import extract
from germane.extraction.memories.extracted import RULES_VERSION, Extracted, MessageReading, extracted_memory
from germane.extraction.memories.plans import SaidCorrection, SaidEnding
from germane.extraction.memories.statements import find_corrections
from germane.kinds.events.value import Event
from germane.kinds.memories.value import Memory
from germane.kinds.messages.prepared import PreparedMessage
from germane.kinds.profile.telling import TellingClause, telling_clauses
from germane.types.scope import Scope

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
    metadata: dict[str, Any] = {"extracted": one.rule, "version": RULES_VERSION, "share": one.share}
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


# Whether a message is what a user wrote, and its telling clauses.


OWN_KINDS = ("user", "import")
"""What came from a tool, an operator or a system is nobody's own words."""
MAX_READ = 20_000
"""Characters of a message that are read for what it tells."""
_NOTE = "own_words"
"""The metadata of a message that doesn't tell by itself whether a user wrote it."""


def telling_in(message: PreparedMessage) -> tuple[TellingClause, ...]:
    """Returns the telling clauses of a message that is to be stored; those of `message`, where it was read in advance."""
    if message.telling is not None:
        return message.telling
    return telling_clauses(message.text[:MAX_READ]) if message.own_words else ()


def told_by(event: Event) -> tuple[TellingClause, ...]:
    """Returns the telling clauses of a stored event: the same as `telling_in` of its message."""
    return telling_clauses(event.text[:MAX_READ]) if written_by_user(event) else ()


def written_by_user(event: Event) -> bool:
    """Whether the text of an event is one text of a user's turn, with no tool's result beside it."""
    if not _may_be(event):
        return False
    noted = event.provenance.metadata.get(_NOTE)
    return noted if isinstance(noted, bool) else _by_itself(event)


def noting_own_words(event: Event, own_words: bool) -> Event:
    """Returns the event with a note of whether a user wrote it, where it would seem otherwise: parsed messages leave no dict
    behind, and what germane had injected beside the text is in the dict still."""
    if not _may_be(event) or _by_itself(event) == own_words:
        return event
    metadata = {**event.provenance.metadata, _NOTE: own_words}
    return event._replace(provenance=replace(event.provenance, metadata=metadata))


def _may_be(event: Event) -> bool:
    return event.type == "user_message" and event.role == "user" and event.provenance.source_kind in OWN_KINDS


def _by_itself(event: Event) -> bool:
    """Whether the text is all of the caller's content, or one of its parts: several are stored as one text, with results."""
    parts = event.raw.get("content", event.raw.get("parts"))
    return not isinstance(parts, list | tuple) or event.text in [_text(part) for part in parts]


def _text(part: Any) -> Any:
    return part.get("text") if isinstance(part, Mapping) else part
