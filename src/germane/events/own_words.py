"""Own words: whether a message is what a user wrote, and what such a message tells of the user (PERSON-1).

A message tells the same however it came into the store: recorded, imported, restored, or stored by an earlier version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from germane.events.event import Event
from germane.events.prepared_message import PreparedMessage
from germane.profile.telling import TellingClause, telling_clauses

__all__ = ["OWN_KINDS", "READ", "noting_own_words", "telling_in", "told_by", "written_by_user"]

OWN_KINDS = ("user", "import")
"""What came from a tool, an operator or a system is nobody's own words."""
READ = 20_000
"""Characters of a message that are read for what it tells."""
_NOTE = "own_words"
"""The metadata of a message that doesn't tell by itself whether a user wrote it."""


def telling_in(message: PreparedMessage) -> tuple[TellingClause, ...]:
    """Returns the telling clauses of a message that is to be stored; those of `message`, where it was read in advance."""
    if message.telling is not None:
        return message.telling
    return telling_clauses(message.text[:READ]) if message.own_words else ()


def told_by(event: Event) -> tuple[TellingClause, ...]:
    """Returns the telling clauses of a stored event: the same as `telling_in` of its message."""
    return telling_clauses(event.text[:READ]) if written_by_user(event) else ()


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
