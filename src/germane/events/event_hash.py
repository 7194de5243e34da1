"""Event hash: the content hash of an event, by which it is recognised when it comes again."""

from __future__ import annotations

from germane.events.event import Event
from germane.text.normal import content_hash

__all__ = ["event_hash", "typed_hash"]


def event_hash(event: Event) -> int:
    """Returns the hash of an event as it is stored: of role and text; of a typed event see `typed_hash`."""
    return typed_hash(event.type, event.outcome, event.text) if event.typed else content_hash(event.role, event.text)


def typed_hash(type: str, outcome: str, text: str) -> int:
    """Returns the hash of a typed event, whose position may not be known yet."""
    return content_hash(type, outcome, text)
