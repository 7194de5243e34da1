"""Builders: candidates and messages with defaults, so that a test names only the fields that it is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from germane.types.candidate import Candidate
from germane.types.message import Message, Role

__all__ = ["MOMENT", "candidate", "message"]

MOMENT = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
"""The default time of everything built here: a Tuesday at noon, UTC."""


def candidate(text: str = "Prefers tea to coffee", **fields: Any) -> Candidate:
    """A candidate such as a source of messages offers it. `fields` are fields of `Candidate`. The same text gives the same id
    and hash."""
    digest = crc32(text.encode("utf-8", "surrogatepass"))
    defaults: dict[str, Any] = {
        "id": f"c{digest:08x}",
        "source": "messages",
        "category": "conversation",
        "created_at": MOMENT,
        "kinds": ("event",),
        "content_hash": digest,
    }
    return Candidate(text=text, **(defaults | fields))


def message(
    text: str = "What do I like to drink?",
    role: Role = "user",
    *,
    id: str | None = None,
    name: str | None = None,
    created_at: datetime | None = MOMENT,
) -> Message:
    """A message with one text part."""
    return Message.of(role, text, id=id, name=name, created_at=created_at)
