"""Activity: what agents did lately, as a section of the system prompt: the last 24 hours, in order (BUILD-2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import islice

from germane.clock import aware
from germane.errors import InvalidInput
from germane.pipeline.format.escape import clean, escape_text
from germane.pipeline.format.graphemes import clip
from germane.text.templates import neutralise_line
from germane.types.limits import ID, Limit, text, within

__all__ = ["Activity", "lately", "read_activity", "write_activity"]

_TEXT = Limit(maximum=4_000, unit="characters", of="the text of one activity", why="an entry is a line of the prompt")
_ENTRIES = Limit(maximum=10_000, unit="entries", of="the activity given to a builder", why="15 of the last day are shown")
_SPAN = timedelta(hours=24)
_MAX_SHOWN, _MAX_OWN = 15, 3
_MAX_LINE = 500
"""Graphemes of an entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """`agent` did `text` at `at` (naive times are in the scope's zone)."""

    at: datetime
    agent: str
    text: str


def read_activity(entries: object, zone: str) -> tuple[Activity, ...]:
    """Returns the entries with their times in UTC. Raises `InvalidInput` naming the entry that can't be used."""
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
        raise InvalidInput(f"activity must be a list of Activity, not {type(entries).__name__}")
    given = tuple(islice(entries, _ENTRIES.maximum + 1))
    within("activity", len(given), _ENTRIES, at_least=True)
    found: list[Activity] = []
    for index, each in enumerate(given):
        if not isinstance(each, Activity) or not isinstance(each.at, datetime):
            raise InvalidInput(f"activity[{index}] must be an Activity(at=…, agent=…, text=…), not {type(each).__name__}")
        agent = text(f"activity[{index}]: agent", each.agent, ID)
        said = text(f"activity[{index}]: text", each.text, _TEXT)
        found.append(Activity(at=aware(each.at, zone, f"activity[{index}]: at"), agent=agent, text=said))
    return tuple(found)


def lately(entries: Sequence[Activity], own: str, now: datetime) -> tuple[Activity, ...]:
    """Returns the entries to show, the oldest first: of the 24 hours before `now` the newest 15, 3 of them of the agent `own`
    at most."""
    fresh = sorted((each for each in entries if now - _SPAN <= each.at <= now), key=lambda each: each.at, reverse=True)
    shown: list[Activity] = []
    mine = 0
    for each in fresh:
        if each.agent == own and (mine := mine + 1) > _MAX_OWN:
            continue
        shown.append(each)
        if len(shown) == _MAX_SHOWN:
            break
    return tuple(reversed(shown))


def write_activity(entries: Sequence[Activity], nonce: str, zone: tzinfo) -> str:
    """Returns the section; empty without entries. Each entry is one line, whatever its text holds."""
    if not entries:
        return ""
    lines = list[str]()
    for each in entries:
        head = f"- [{each.at.astimezone(zone):%Y-%m-%d %H:%M}]"
        line = f"{head} {_line(each.agent, nonce, 64)}: {_line(each.text, nonce, _MAX_LINE)}"
        lines.append(neutralise_line(head, line))
    return "\n".join(("# Recent Activity", "", *lines))


def _line(said: str, nonce: str, limit: int) -> str:
    return escape_text(clip(clean(" ".join(said.split()), nonce).replace("\n", " "), limit))
