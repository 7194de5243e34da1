"""Dataset: labelled conversations, whatever format they came in. What was broken and left out is said, not hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.types.message import Message

__all__ = ["Conversation", "Dataset", "Dropped", "Question", "Stated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    id: str
    text: str
    evidence: frozenset[str]
    """Ids of the messages (or of what was stated) that hold the answer, at least one; all of them exist in the conversation."""
    category: str = ""
    answer: str | None = None
    at: datetime | None = None
    """When it is asked, aware; None: at the clock of the evaluation."""
    superseded: frozenset[str] = frozenset()
    """Ids of messages that state what has been replaced since: stale when they are shown without what replaced them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A memory, as `Agent.remember` takes it. What is stored has an id of its own; `id` is its provenance's `message_id`, so
    that shown memories and shown messages are known again in the same way."""

    id: str
    text: str | None = None
    kind: str = "note"
    given: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the kind and attributes, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What one agent heard, and what is asked of it afterwards. Each is measured in a store of its own."""

    name: str
    sessions: Mapping[str, Sequence[Message]]
    """In the order of time; every message has an id, unique in the conversation."""
    questions: Sequence[Question]
    memories: Sequence[Stated] = ()
    """What is remembered beside what was said, before it; ids are unique among those of the messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    where: str
    """The conversation and the question or message."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    name: str
    format: str
    """locomo, beam, realtalk, longmemeval or requests."""
    conversations: Sequence[Conversation]
    dropped: Sequence[Dropped] = ()
