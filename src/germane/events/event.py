"""Event: something that happened in a session and is kept verbatim. A recorded message is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from germane.types.candidate import PassageRange, Provenance, Sensitivity

__all__ = ["Event", "EventHead", "Session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation of one user (or agent-wide) with one agent. `number` counts from 1 within the scope, by beginning."""

    id: str
    user: str | None
    number: int
    started_at: datetime
    last_at: datetime
    length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`type` is `user_message`, `assistant_message`, `system_message`, `tool_message`, or any other event type.

    `message_id` is the caller's own id; `role` and `text` are as said; `raw` is the caller's dict, for export.
    `position` counts within the session from 0 in the order of arrival; `created_at` is when it was said. An event that was
    read for a request has no `raw`, and of a long text a passage.
    """

    id: str
    type: str
    user: str | None
    session: str
    position: int
    text: str
    created_at: datetime
    recorded_at: datetime
    role: str = ""
    name: str = ""
    message_id: str | None = None
    sensitivity: Sensitivity = "private"
    content_hash: int = 0
    """64 bits of role and text, for alignment and deduplication."""
    session_started_at: datetime | None = None
    session_number: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, hash=False)
    provenance: Provenance = field(default_factory=Provenance)
    passage: PassageRange | None = None
    """Where `text` is a passage of a long text; None where it is all of it."""


class EventHead(NamedTuple):
    """What tells whether a message is held already: an event without its text. `role` is empty for what isn't a message."""

    position: int
    role: str
    content_hash: int
    message_id: str | None
    created_at: datetime
    recorded_at: datetime
