"""Figures: the mean of every metric with its interval, by clock, overall and for each category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from germane.evaluate.answered import Answered
from germane.evaluate.interval import ENOUGH, groups, intervals
from germane.evaluate.metric import columns, measured

__all__ = ["Figure", "enough", "figures"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The mean of a metric over `count` questions. `low` and `high` bound the middle 95 % of the resampled means, and are None
    where there are too few questions. `at` is the budget (tokens) or the k; `category` is empty for all questions."""

    clock: str
    category: str
    metric: str
    at: int
    mean: float
    low: float | None
    high: float | None
    count: int


def enough(answered: Sequence[Answered]) -> bool:
    """Whether there are enough conversations to resample whole conversations instead of questions."""
    return len({answer.conversation for answer in answered}) >= ENOUGH


def figures(answered: Sequence[Answered], *, budgets: Sequence[int], ks: Sequence[int], seed: int = 0) -> tuple[Figure, ...]:
    """The mean of every metric at each budget and k. A metric without a value for any question is left out."""
    found: list[Figure] = []
    whole = enough(answered)
    for clock in dict.fromkeys(one.clock for one in answered):
        asked = [one for one in answered if one.clock == clock]
        categories = sorted({one.category for one in asked if one.category})
        for category in ["", *(categories if len(categories) > 1 else ())]:
            chosen = [one for one in asked if category in ("", one.category)]
            drawn = groups([one.conversation for one in chosen], whole=whole)
            means = intervals(measured(chosen, budgets, ks), drawn, seed)
            for (name, at), one in zip(columns(budgets, ks), means, strict=True):
                if one.count:
                    found.append(
                        Figure(
                            clock=clock,
                            category=category,
                            metric=name,
                            at=at,
                            mean=one.mean,
                            low=one.low,
                            high=one.high,
                            count=one.count,
                        )
                    )
    return tuple(found)
