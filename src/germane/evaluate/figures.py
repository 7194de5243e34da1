"""Figures: the mean of every metric with its interval, by clock, overall and for each category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from germane.evaluate.answered import Answered
from germane.evaluate.interval import ENOUGH, intervals, resampling_groups
from germane.evaluate.metric import metric_columns, metric_values

__all__ = ["Figure", "enough_conversations", "figures"]


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


def enough_conversations(answered: Sequence[Answered]) -> bool:
    """Whether there are enough conversations to resample whole conversations instead of questions."""
    return len({answer.conversation for answer in answered}) >= ENOUGH


def figures(answered: Sequence[Answered], *, budgets: Sequence[int], ks: Sequence[int], seed: int = 0) -> tuple[Figure, ...]:
    """The mean of every metric at each budget and k. A metric without a value for any question is left out."""
    found: list[Figure] = []
    whole = enough_conversations(answered)
    for clock in dict.fromkeys(answer.clock for answer in answered):
        at_clock = [answer for answer in answered if answer.clock == clock]
        categories = sorted({answer.category for answer in at_clock if answer.category})
        for category in ["", *(categories if len(categories) > 1 else ())]:
            chosen = [answer for answer in at_clock if category in ("", answer.category)]
            drawn = resampling_groups([answer.conversation for answer in chosen], whole=whole)
            means = intervals(metric_values(chosen, budgets, ks), drawn, seed)
            for (name, at), interval in zip(metric_columns(budgets, ks), means, strict=True):
                if interval.count:
                    found.append(
                        Figure(
                            clock=clock,
                            category=category,
                            metric=name,
                            at=at,
                            mean=interval.mean,
                            low=interval.low,
                            high=interval.high,
                            count=interval.count,
                        )
                    )
    return tuple(found)
