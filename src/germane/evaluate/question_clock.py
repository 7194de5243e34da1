"""Question clock: the time at which a question is asked: a while after the conversation, today, or a fixed time.

A score that depends on recency is good at one clock and bad at another, so an evaluation uses several.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from germane.clock import aware
from germane.errors import InvalidInput
from germane.evaluate.dataset import Conversation, Question

__all__ = ["CLOCKS", "QuestionClock", "ends", "starts"]

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
