"""Compare: the paired differences of two reports over the same questions.

Pairing removes how hard each question is from the difference, so the interval of a difference is several times narrower than
the intervals of the two means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from germane.errors import InvalidInput
from germane.evaluate.answered import Answered
from germane.evaluate.figures import enough_conversations
from germane.evaluate.interval import intervals, resampling_groups
from germane.evaluate.metric import metric_columns, metric_values
from germane.evaluate.report import Report

__all__ = ["Changed", "Comparison", "Difference", "compare"]


_Pair = tuple[Answered, Answered]


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

    def difference(self, metric: str, at: int, *, clock: str | None = None, category: str = "") -> Difference:
        """The difference of `metric` at a budget or k; by default at the first clock and over all categories. Raises
        `KeyError` where it wasn't measured."""
        wanted = (self.clocks[0] if clock is None else clock, category, metric, at)
        for difference in self.differences:
            if (difference.clock, difference.category, difference.metric, difference.at) == wanted:
                return difference
        raise KeyError(wanted)

    @property
    def clocks(self) -> tuple[str, ...]:
        """The clocks that both reports have, in order."""
        return tuple(dict.fromkeys(difference.clock for difference in self.differences))

    def __repr__(self) -> str:
        return f"<Comparison {self.matched} questions, {len(self.changed)} changed>"


def compare(a: Report, b: Report, *, seed: int = 0) -> Comparison:
    """Compares b with a over the questions, clocks, budgets and k that both reports have. Raises `InvalidInput` where the
    reports have no question, no clock or no budget in common."""
    budgets = [budget for budget in a.run.budgets if budget in b.run.budgets]
    ks = [k for k in a.run.ks if k in b.run.ks]
    clocks = [clock for clock in a.run.clocks if clock in b.run.clocks]
    if not (budgets and clocks):
        raise InvalidInput(
            "the two reports have no budget or no clock in common: measure both with the same --tokens and --clock"
        )
    found: list[Difference] = []
    pairs: list[_Pair] = []
    for clock in clocks:
        of_a, of_b = _answers(a, clock), _answers(b, clock)
        both = [(of_a[key], of_b[key]) for key in of_a if key in of_b]
        if not both:
            raise InvalidInput("the two reports have no question in common: measure both on the same data")
        pairs = pairs or both
        whole = enough_conversations([answer for answer, _ in both])
        categories = sorted({answer.category for answer, _ in both if answer.category})
        for category in ["", *(categories if len(categories) > 1 else ())]:
            chosen = [pair for pair in both if category in ("", pair[0].category)]
            found += _differences(chosen, clock, category, budgets, ks, whole=whole, seed=seed)
    first, second = _answers(a, clocks[0]), _answers(b, clocks[0])
    budget = min(budgets, key=lambda budget: abs(budget - 1000))
    return Comparison(
        a=a,
        b=b,
        differences=tuple(found),
        changed=_changed(pairs, budget),
        budget=budget,
        matched=len(pairs),
        unmatched=len(first.keys() ^ second.keys()),
        resampled="conversations" if enough_conversations([answer for answer, _ in pairs]) else "questions",
    )


def _differences(
    pairs: list[_Pair], clock: str, category: str, budgets: list[int], ks: list[int], *, whole: bool, seed: int
) -> list[Difference]:
    """The differences of every metric over these pairs."""
    of_a = metric_values([pair[0] for pair in pairs], budgets, ks)
    of_b = metric_values([pair[1] for pair in pairs], budgets, ks)
    drawn = resampling_groups([pair[0].conversation for pair in pairs], whole=whole)
    found = []
    rows = zip(metric_columns(budgets, ks), intervals(of_b - of_a, drawn, seed), of_a.T, of_b.T, strict=True)
    for (name, at), mean, left, right in rows:
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


def _changed(pairs: list[_Pair], budget: int) -> tuple[Changed, ...]:
    """The questions whose shown evidence differs within `budget`, the largest change first."""
    found = []
    for pair in pairs:
        a, b = (float(metric_values([answer], [budget], [])[0, 0]) for answer in pair)
        if abs(b - a) > 1e-9:
            asked = pair[0]
            found.append(
                Changed(
                    conversation=asked.conversation,
                    id=asked.id,
                    question=asked.question,
                    category=asked.category,
                    a=a,
                    b=b,
                )
            )
    return tuple(sorted(found, key=lambda change: -abs(change.b - change.a)))


def _answers(report: Report, clock: str) -> Mapping[tuple[str, str], Answered]:
    """The answers at one clock, by conversation and id of the question."""
    return {(answer.conversation, answer.id): answer for answer in report.answered if answer.clock == clock}
