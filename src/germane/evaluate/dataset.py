"""Dataset: labelled conversations, whatever format they came in. What was broken and left out is said, not hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from germane.message import Message

__all__ = ["Conversation", "Dataset", "Dropped", "Question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    id: str
    text: str
    evidence: frozenset[str]
    """Ids of the messages that hold the answer, at least one; all of them exist in the conversation."""
    category: str = ""
    answer: str | None = None
    at: datetime | None = None
    """When it is asked, aware; None: at the clock of the evaluation."""
    superseded: frozenset[str] = frozenset()
    """Ids of messages that state what has been replaced since: stale when they are shown without what replaced them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What one agent heard, and what is asked of it afterwards. Each is measured in a store of its own."""

    name: str
    sessions: Mapping[str, Sequence[Message]]
    """In the order of time; every message has an id, unique in the conversation."""
    questions: Sequence[Question]


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
