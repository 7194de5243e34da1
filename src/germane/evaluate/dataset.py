"""Dataset: labelled conversations, their questions, and a list of what was broken in the file and left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.types.message import Message

__all__ = ["Conversation", "Dataset", "Dropped", "Question", "Stated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about a conversation, labelled with the messages that hold its answer."""

    id: str
    text: str
    evidence: frozenset[str]
    """Ids of the messages and memories that hold the answer; all of them exist in the conversation. Only everyday data have
    questions without evidence: nothing stored is needed for them."""
    name: str | None = None
    """Who asks, where several people share a chat."""
    category: str = ""
    answer: str | None = None
    at: datetime | None = None
    """The time at which the question is asked, aware; None leaves it to the clock of the evaluation."""
    superseded: frozenset[str] = frozenset()
    """Ids of messages whose content has been replaced or taken back since. Showing one of them without the evidence that holds
    now counts as stale."""

    @property
    def message(self) -> dict[str, str]:
        """The message of a request that asks it, in OpenAI's shape."""
        return {"role": "user", "content": self.text} | ({"name": self.name} if self.name else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A memory, as `Agent.remember` takes it."""

    id: str
    """Becomes the `message_id` of the stored memory's provenance, so that evidence names memories and messages alike."""
    text: str | None = None
    kind: str = "note"
    given: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `remember`: fields of the kind, and attributes such as `tags`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The messages and memories of one agent, and the questions about them. Each conversation is measured in a store of its
    own."""

    name: str
    sessions: Mapping[str, Sequence[Message]]
    """Messages by session, in the order of time; every message has an id that is unique in the conversation."""
    questions: Sequence[Question]
    memories: Sequence[Stated] = ()
    """Memories that are stored before the messages; their ids differ from each other's and from those of the messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A message, question or label that can't be used and was left out."""

    where: str
    """Names the conversation, and the question or message in it."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Labelled conversations from one file or folder."""

    name: str
    format: str
    """One of `locomo`, `beam`, `realtalk`, `longmemeval`, `everyday`, `requests`."""
    conversations: Sequence[Conversation]
    dropped: Sequence[Dropped] = ()

    @property
    def everyday(self) -> bool:
        """Whether its questions are the turns of conversations, and some of them need nothing stored."""
        return self.format == "everyday"
