"""RequestFigure: the means over a person's requests, by category and by person, without a budget and within each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np

from germane.evaluate.everyday.talk import RequestAnswer
from germane.evaluate.interval import Interval, intervals, resampling_groups

__all__ = ["RequestFigure", "request_figures"]

By = Literal["all", "category", "person"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFigure:
    """Means over `count` requests: all of them, or those of one category or one person.

    Over all requests and over those of a person, `count`, `alone`, `standing` and `profile` are of the requests that need
    something, the others of every turn. `low` and `high` bound the middle 95 % of the resampled means of `found`."""

    by: By
    name: str
    """The category or the person; empty for all requests."""
    budget: int
    """Tokens; 0 without a budget."""
    count: int
    found: float | None
    """The share of the requests of which all the evidence is shown; None where none of them needs any."""
    low: float | None
    high: float | None
    alone: float
    """The share that was shown outdated text without all the evidence."""
    standing: float
    """Tokens in the prompt, from whichever turn."""
    new: float
    """Tokens that a turn added."""
    profile: float
    """Of the standing tokens those of what always stands."""
    searched: float
    """Of the new tokens those beyond what always stands."""
    items: float
    """The share of the turns that got any item."""
    searched_items: float
    """The share of the turns that got any item beyond what always stands."""


_COLUMNS: tuple[Callable[[RequestAnswer], float], ...] = (
    lambda answer: nan if answer.found is None else answer.found,
    lambda answer: answer.alone,
    lambda answer: answer.standing,
    lambda answer: answer.profile,
    lambda answer: answer.new,
    lambda answer: answer.searched,
    lambda answer: answer.items > 0,
    lambda answer: answer.searched_items > 0,
)
_OF_NEEDING = 4
"""So many columns are means over the requests that need something, but for a category."""


def request_figures(answers: Sequence[RequestAnswer], seed: int = 0) -> tuple[RequestFigure, ...]:
    """The figures without a budget first, then those within each budget: of all requests, of each category by name, and of
    each person. Empty without answers."""
    found = []
    for budget in sorted({answer.budget for answer in answers}):
        asked = [answer for answer in answers if answer.budget == budget]
        found.append(_figure("all", "", asked, seed))
        found += _grouped("category", asked, lambda answer: answer.category, seed)
        found += _grouped("person", asked, lambda answer: answer.conversation, seed)
    return tuple(found)


def _grouped(
    by: By, answers: Sequence[RequestAnswer], name_of: Callable[[RequestAnswer], str], seed: int
) -> list[RequestFigure]:
    names = sorted({name for answer in answers if (name := name_of(answer))})
    return [_figure(by, name, [answer for answer in answers if name_of(answer) == name], seed) for name in names]


def _figure(by: By, name: str, answers: Sequence[RequestAnswer], seed: int) -> RequestFigure:
    needing = [answer for answer in answers if answer.found is not None] or answers
    found, alone, standing, profile = _means(answers if by == "category" else needing, seed)[:_OF_NEEDING]
    new, searched, items, searched_items = _means(answers, seed)[_OF_NEEDING:]
    return RequestFigure(
        by=by,
        name=name,
        budget=answers[0].budget,
        count=alone.count,
        found=found.mean if found.count else None,
        low=found.low,
        high=found.high,
        alone=alone.mean,
        standing=standing.mean,
        new=new.mean,
        profile=profile.mean,
        searched=searched.mean,
        items=items.mean,
        searched_items=searched_items.mean,
    )


def _means(answers: Sequence[RequestAnswer], seed: int) -> list[Interval]:
    rows = [[column(answer) for column in _COLUMNS] for answer in answers]
    return intervals(np.array(rows, dtype=np.float64), resampling_groups([""] * len(rows), whole=False), seed)
