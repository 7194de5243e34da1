"""When: the clock by which questions are asked. A score that leans on recency shows only with one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from germane.clock import aware
from germane.errors import InvalidInput
from germane.evaluate.dataset import Conversation, Question

__all__ = ["CLOCKS", "When", "ends", "starts"]

CLOCKS = ("end+1h", "today")
"""Soon after the conversation, and long after it."""

_END = re.compile(r"end(?:\+(\d{1,5})([mhdw]))?")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """`after` counts from the conversation's end; else `moment`, aware."""

    name: str
    after: timedelta | None = None
    moment: datetime | None = None

    @classmethod
    def of(cls, text: str, now: datetime) -> When:
        """`end+1h` (m, h, d, w; `end` alone), `today`, or an ISO 8601 time, read as UTC where it names no zone. Raises
        `InvalidInput`."""
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

    def at(self, question: Question, end: datetime | None) -> datetime | None:
        """When to ask. A question that has a time of its own is asked then, unless the clock is a fixed one. None (now) where
        nothing of the conversation has a time."""
        if self.after is None:
            return self.moment
        return question.at or (None if end is None else end + self.after)


def starts(conversation: Conversation) -> datetime | None:
    """When the first of its messages was said, in UTC; None where none has a time."""
    return min(_times(conversation), default=None)


def ends(conversation: Conversation) -> datetime | None:
    """When the last of its messages was said, in UTC; None where none has a time."""
    return max(_times(conversation), default=None)


def _times(conversation: Conversation) -> list[datetime]:
    said = (message.created_at for messages in conversation.sessions.values() for message in messages)
    return [aware(moment) for moment in said if moment is not None]
