"""Highlights: the few events of a session that are worth knowing later.

Decisions; errors, and what they were resolved with; what was written; what failed or succeeded; the last message. Pure, and the
same for the same events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from germane.kinds.events.wording import action_of, failed, succeeded


class EventMark(NamedTuple):
    """What decides whether an event is a highlight. `key` stands for the event, `at` is its time in microseconds."""

    key: int
    type: str
    role: str
    outcome: str
    at: int
    position: int


_DECISION, _ERROR, _RESOLVED, _FAILED, _LAST, _CHANGED, _DONE = range(7)
"""Ranks: what a lower number stands for goes first where not all fit."""


def highlights(marks: Sequence[EventMark], limit: int) -> tuple[EventMark, ...]:
    """Returns at most `limit` events of one session, oldest first, whatever the order of `marks`.

    Chosen by rank, and of one rank the latest first: decisions; errors; what first succeeded after an error, of the same type
    as the failure or a test, with the last change before it; other failures; the last message; changes; other successes. An
    event counts in its best rank only.
    """
    ordered = sorted(marks, key=_time)
    ranks: dict[int, int] = {}
    open_error = False
    change: int | None = None
    for index, mark in enumerate(ordered):
        action, bad = action_of(mark.type), failed(mark.outcome)
        if action == "decision":
            ranks[index] = _DECISION
        elif action == "error":
            ranks[index] = _ERROR
            open_error, change = True, None
        elif bad:
            ranks[index] = _FAILED
            open_error, change = open_error or action in ("execute", "test"), None
        elif action in ("write", "edit"):
            ranks[index] = _CHANGED
            change = index
        elif succeeded(mark.outcome):
            ranks[index] = _DONE
            if open_error and action in ("execute", "test"):
                ranks[index] = _RESOLVED
                if change is not None:
                    ranks[change] = _RESOLVED
                open_error = False
    said = [index for index, mark in enumerate(ordered) if mark.role in ("user", "assistant")]
    if said:
        ranks[said[-1]] = _LAST
    best = sorted(ranks, key=lambda index: (ranks[index], -index))[: max(limit, 0)]
    return tuple(ordered[index] for index in sorted(best))


def _time(mark: EventMark) -> tuple[int, int]:
    return mark.at, mark.position
