"""Why: what one assembly did with one stored thing, and the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal

__all__ = ["LEFT_OUT", "Outcome", "Why"]

Outcome = Literal[
    "injected",
    "stands",
    "left_out",
    "unread",
    "in_request",
    "filtered",
    "ended",
    "not_searched",
    "not_reached",
    "forgotten",
    "absent",
]
"""`stands`: it was injected for an earlier turn. `unread`: it was found and couldn't be worth its tokens. `not_reached`: the
search found others first. `absent`: this scope has no such thing."""

LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "budget": "it didn't fit into the budget",
        "kind_cap": "the strategy's cap for its kind was reached",
        "source_cap": "the share of its source was used up",
        "duplicate": "the same text went in from another item",
        "below_floor": "its relevance is below the strategy's floor",
        "not_needed": "the request needs nothing that is stored: P(need) is below the strategy's threshold",
        "price": "it isn't worth its tokens at this effort",
        "sensitivity": "its sensitivity isn't allowed in this request",
        "filter": "a filter of the request excludes it",
        "superseded": "a newer fact superseded it",
        "withdrawn": "when the text was written, it could no longer be shown",
        "already_shown": "it stands in the text of an earlier turn",
        "other_task": "it was done for another task than the current one",
        "task_share": "the share of its role in the task stack was used up",
        "turn_kept": "the newest turn had its text already, and nothing is added to it",
        "profile_kept": "the profile of the session's first turn stands, and nothing is added to it",
    }
)
"""What each reason of a `LeftOut` means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """`id` is the whole id, or what was asked for where nothing has it. `reason` is a code, such as a left-out candidate's
    reason or the name of the filter, and `text` the sentence for a person. `rank` counts from 1: over all candidates for what
    was one, else over all that is stored of its sort. `probability` is P(relevant) in [0, 1]; `tokens` its cost. `at` is when
    it was forgotten or ended."""

    id: str
    outcome: Outcome
    text: str
    reason: str = ""
    rank: int | None = None
    probability: float | None = None
    tokens: int | None = None
    at: datetime | None = None
