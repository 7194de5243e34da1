"""Comparison: how one report differs from another, in figures and question by question.

The differences are paired: how hard each question is doesn't count in them, so the interval of a difference is several times
narrower than the intervals of the two means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.interval import intervals
from germane.evaluate.metric import REQUEST, WITHIN, Metric
from germane.evaluate.report import Report

__all__ = ["Changed", "Comparison", "Difference", "paired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The mean of b − a over `count` questions. `low` and `high` bound the middle 95 % of the resampled means, and are None
    where there are too few questions; `a` and `b` are the means over the same questions; `at` is the budget (tokens) or k."""

    clock: str
    category: str
    metric: str
    at: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    count: int

    @property
    def sure(self) -> bool:
        """Whether the interval excludes zero when both of its sides are taken as wide as the wider one."""
        if self.low is None or self.high is None:
            return False
        return abs(self.difference) > max(self.high - self.difference, self.difference - self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A question of which the two reports show different shares of the evidence, `a` and `b`."""

    conversation: str
    id: str
    question: str
    category: str
    a: float
    b: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The differences between report `a` and report `b`."""

    a: Report
    b: Report
    differences: tuple[Difference, ...]
    changed: tuple[Changed, ...]
    """Questions with different evidence at the first clock within `budget` tokens, the largest change first."""
    budget: int
    matched: int
    """Questions in both reports."""
    unmatched: int
    """Questions in only one of the reports."""
    resampled: str
    """What the intervals draw: `conversations` or `questions`."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """What is compared within each budget; the first leads."""
        return REQUEST if self.a.requests else WITHIN

    def difference(self, metric: str, at: int, *, clock: str | None = None, category: str = "") -> Difference:
        """The difference of `metric` at a budget or k; by default at the first clock and over all categories. Raises
        `KeyError` where it wasn't measured."""
        wanted = (self.clocks[0] if clock is None else clock, category, metric, at)
        for difference in self.differences:
            if (difference.clock, difference.category, difference.metric, difference.at) == wanted:
                return difference
        raise KeyError(wanted)

    @property
    def by_category(self) -> tuple[Difference, ...]:
        """The differences of the leading metric at the first clock within `budget`: over all questions, then by category."""
        wanted = (self.clocks[0], self.metrics[0].name, self.budget)
        return tuple(one for one in self.differences if (one.clock, one.metric, one.at) == wanted)

    @property
    def clocks(self) -> tuple[str, ...]:
        """The clocks that both reports have, in order."""
        return tuple(dict.fromkeys(difference.clock for difference in self.differences))

    def __repr__(self) -> str:
        return f"<Comparison {self.matched} questions, {len(self.changed)} changed>"


def paired(
    of_a: NDArray[np.float64],
    of_b: NDArray[np.float64],
    columns: Sequence[tuple[str, int]],
    drawn: NDArray[np.intp],
    *,
    clock: str,
    category: str,
    seed: int,
) -> list[Difference]:
    """The differences of values of the same questions, shape (questions, columns), NaN where a metric doesn't apply. `columns`
    are name and budget (or k) of each metric, `drawn` the resampling groups of the questions."""
    found = []
    for (name, at), mean, left, right in zip(columns, intervals(of_b - of_a, drawn, seed), of_a.T, of_b.T, strict=True):
        if mean.count:
            known = ~(left != left) & ~(right != right)
            found.append(
                Difference(
                    clock=clock,
                    category=category,
                    metric=name,
                    at=at,
                    a=float(left[known].mean()),
                    b=float(right[known].mean()),
                    difference=mean.mean,
                    low=mean.low,
                    high=mean.high,
                    count=mean.count,
                )
            )
    return found
