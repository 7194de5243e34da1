"""Dataset: labelled conversations and their questions: when they are asked, which of them, and how they are stored.

A data set also lists what was broken in the file and left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from germane.api.agent import Agent
from germane.clock import aware
from germane.errors import InvalidInput
from germane.types.candidate import Provenance
from germane.types.message import Message


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


# The time at which a question is asked: a while after the conversation, today, or a fixed time. A score that depends on
# recency is good at one clock and bad at another, so an evaluation uses several.


CLOCKS = ("end+1h", "today")
"""The default clocks: one soon after the conversation and one long after it."""

_END = re.compile(r"end(?:\+(\d{1,5})([mhdw]))?")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClock:
    """A clock by its name. It is `after` the end of the conversation or, where `after` is None, fixed at `moment` (aware)."""

    name: str
    after: timedelta | None = None
    moment: datetime | None = None

    @classmethod
    def of(cls, text: str, now: datetime) -> QuestionClock:
        """Reads `end`, `end+1h` (with m, h, d or w), `today`, or an ISO 8601 time, which is UTC where it names no zone. `now`
        is the time of `today`. Raises `InvalidInput` for anything else."""
        if found := _END.fullmatch(text):
            return cls(name=text, after=timedelta(**{_UNITS[found[2]]: int(found[1])}) if found[1] else timedelta())
        if text == "today":
            return cls(name=text, moment=now)
        try:
            return cls(name=text, moment=aware(datetime.fromisoformat(text)))
        except ValueError:
            raise InvalidInput(
                f"clock must be end+1h, today or an ISO 8601 time such as 2025-05-03, not {text[:40]!r}"
            ) from None

    def at(self, question: Question | None, end: datetime | None) -> datetime | None:
        """The time at which to ask `question`, or, with None, anything else. A question with a time of its own keeps it, unless
        the clock is fixed. None means now: no message of the conversation has a time. Raises `InvalidInput` for a time after
        the year 9999."""
        if self.after is None:
            return self.moment
        if question is not None and question.at is not None:
            return question.at
        try:
            return None if end is None else end + self.after
        except OverflowError:
            raise InvalidInput(f"the clock {self.name} is after the year 9999: give a shorter time") from None


def starts(conversation: Conversation) -> datetime | None:
    """The time of the first message, in UTC; None where no message has a time."""
    return min(_times(conversation), default=None)


def ends(conversation: Conversation) -> datetime | None:
    """The time of the last message, in UTC; None where no message has a time."""
    return max(_times(conversation), default=None)


def _times(conversation: Conversation) -> list[datetime]:
    said = (message.created_at for messages in conversation.sessions.values() for message in messages)
    return [aware(moment) for moment in said if moment is not None]


# Picks fewer questions or conversations, evenly spread and the same ones in each run.


T = TypeVar("T")


def spread_evenly(found: Sequence[T], limit: int) -> list[T]:
    """At most `limit` entries at even distances, in their order."""
    if len(found) <= limit:
        return list(found)
    return [found[index * len(found) // limit] for index in range(limit)]


def select_questions(dataset: Dataset, *, limit: int | None = None, categories: Collection[str] | None = None) -> Dataset:
    """The data set with only the questions of these categories, and at most `limit` of them, spread evenly over the
    conversations; conversations without a question are left out. Raises `InvalidInput` for an unknown category, and where no
    question is left."""
    known = sorted({question.category for conversation in dataset.conversations for question in conversation.questions})
    if strangers := sorted(set(categories or ()) - set(known)):
        listed = ", ".join(filter(None, known)) or "none"
        raise InvalidInput(f"{dataset.name} has no questions of category {strangers[0]!r}: its categories are {listed}")
    asked = [
        (index, question)
        for index, conversation in enumerate(dataset.conversations)
        for question in conversation.questions
        if categories is None or question.category in categories
    ]
    if limit is not None:
        asked = spread_evenly(asked, limit)
    if not asked:
        raise InvalidInput(f"{dataset.name} has no question to ask")
    kept: dict[int, list[Question]] = {}
    for index, question in asked:
        kept.setdefault(index, []).append(question)
    chosen = tuple(replace(dataset.conversations[index], questions=questions) for index, questions in kept.items())
    return replace(dataset, conversations=chosen)


# Stores a labelled conversation through an agent, its memories first and then its messages by session.


_BATCH = 200


async def fill(agent: Agent, conversation: Conversation, *, progress: Callable[[int], None] | None = None) -> None:
    """Remembers the memories one by one and records the messages in batches of one session. `progress` is called with the
    number of entries that each batch stored.

    The provenance of a memory carries its id as `message_id`. A memory without `valid_from` and `observed_at` is valid from
    the first message on. Raises what `remember` and `record` raise.
    """
    said = [message.created_at for messages in conversation.sessions.values() for message in messages]
    began = min((time for time in said if time is not None), default=None)
    for stated in conversation.memories:
        await _remember(agent, stated, began, conversation.name)
        if progress:
            progress(1)
    for session, messages in conversation.sessions.items():
        for start in range(0, len(messages), _BATCH):
            batch = messages[start : start + _BATCH]
            await agent.record(batch, session=session)
            if progress:
                progress(len(batch))


async def _remember(agent: Agent, stated: Stated, began: datetime | None, conversation: str) -> None:
    given = dict(stated.given)
    if began is not None and given.get("valid_from") is None and given.get("observed_at") is None:
        given["valid_from"] = began
    try:
        await agent.remember(stated.text, kind=stated.kind, provenance=Provenance(message_id=stated.id), **given)
    except InvalidInput as error:
        raise InvalidInput(f"conversation {conversation}, memory {stated.id}: {error}") from None
