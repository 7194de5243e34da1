"""Report: the result of one evaluation with its circumstances, and how one report differs from another.

The differences are paired, question by question: how hard each question is doesn't count in them. So the interval of a
difference is several times narrower than the intervals of the two means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import nan

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane_eval.answers import Answered, nearest_budget
from germane_eval.dataset import Dropped
from germane_eval.everyday import OPEN, RequestAnswer, RequestFigure, TurnAnswer, TurnFigure
from germane_eval.metrics import (
    REQUEST,
    WITHIN,
    Amount,
    Cost,
    Figure,
    Latency,
    Metric,
    Reuse,
    enough_conversations,
    intervals,
    metric_columns,
    metric_values,
    resampling_groups,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The circumstances of one evaluation: data, options, versions and machine."""

    version: str
    """Of germane."""
    date: datetime
    machine: str
    dataset: str
    format: str
    conversations: int
    messages: int
    questions: int
    """Questions in the data set."""
    asked: int
    """Questions that were asked of them."""
    dropped: tuple[Dropped, ...]
    strategy: str
    embedder: str
    """Its identity, such as `static/l2_supercat/256`."""
    relevance: str
    """The relevance model that was given; empty where the settings or germane's default decide."""
    model: str
    tokenizer: str
    """How tokens were counted, such as `o200k` or `o200k×1.45 (estimate)`."""
    budgets: tuple[int, ...]
    """Tokens."""
    ks: tuple[int, ...]
    clocks: tuple[str, ...]
    deadline: float | None
    """Seconds for each answer; None waits for every source."""
    latency_deadline: float
    """Seconds for each answer of the latency pass."""
    resampled: str
    """What the intervals draw: `conversations` or `questions`."""
    seed: int
    warnings: tuple[str, ...]
    """Germane's warnings, such as one about an unknown model."""
    talk: int | None = None
    """Requests that share a conversation, in everyday data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of one evaluation."""

    run: Run
    figures: tuple[Figure, ...]
    """The mean of each metric."""
    latency: tuple[Latency, ...]
    """Empty where latency wasn't measured."""
    reuse: Reuse | None
    """None where prefix reuse wasn't measured."""
    answered: tuple[Answered, ...]
    """The single results behind the means, one for each clock and question; empty for everyday data."""
    amounts: tuple[Amount, ...] = ()
    """What is added without a budget, for each effort and category."""
    requests: tuple[RequestFigure, ...] = ()
    """What a person's requests are shown, without a budget and within each; empty for other than everyday data."""
    asked_requests: tuple[RequestAnswer, ...] = ()
    """The single results behind `requests`."""
    turns: tuple[TurnFigure, ...] = ()
    """What is added to turns that need no memory; empty where none were asked."""
    asked_turns: tuple[TurnAnswer, ...] = ()
    """The single results behind `turns`."""
    cost: Cost | None = None
    """None where prefix reuse wasn't measured or no price is known."""

    def figure(self, metric: str, at: int, *, clock: str | None = None, category: str = "") -> Figure:
        """The mean of `metric` at a budget or k; by default at the first clock and over all categories. Raises `KeyError`
        where it wasn't measured."""
        wanted = (self.run.clocks[0] if clock is None else clock, category, metric, at)
        for figure in self.figures:
            if (figure.clock, figure.category, figure.metric, figure.at) == wanted:
                return figure
        raise KeyError(wanted)

    def amount(self, effort: str = "", *, category: str = "") -> Amount:
        """What is added without a budget, by default with the strategy's own effort and over all categories. Raises `KeyError`
        where it wasn't measured."""
        for amount in self.amounts:
            if (amount.effort, amount.category) == (effort, category):
                return amount
        raise KeyError((effort, category))

    def request(self, category: str = "", *, budget: int = OPEN) -> RequestFigure | None:
        """What requests of a category are shown, by default all of them, without a budget; None where that wasn't measured."""
        wanted = ("category" if category else "all", category, budget)
        return next((figure for figure in self.requests if (figure.by, figure.name, figure.budget) == wanted), None)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the questions, sorted; empty where there is only one."""
        found = tuple(sorted({answered.category for answered in self.answered if answered.category}))
        return found if len(found) > 1 else ()

    @property
    def faults(self) -> tuple[Answered, ...]:
        """Answers for which germane fell back. They count in the means like all others."""
        return tuple(answered for answered in self.answered if answered.fault)

    def __repr__(self) -> str:
        run = self.run
        return f"<Report {run.dataset} {run.asked} questions {run.strategy} {run.embedder}>"


# How one report differs from another, in figures and question by question.


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


# Pairs two reports over the same questions.


_AnswerPair = tuple[Answered, Answered]


def compare(a: Report, b: Report, *, seed: int = 0) -> Comparison:
    """Compares b with a over the questions, clocks, budgets and k that both reports have. Raises `InvalidInput` where the
    reports have no question, no clock or no budget in common."""
    if a.asked_requests and b.asked_requests:
        return compare_requests(a, b, seed)
    budgets = [budget for budget in a.run.budgets if budget in b.run.budgets]
    ks = [k for k in a.run.ks if k in b.run.ks]
    clocks = [clock for clock in a.run.clocks if clock in b.run.clocks]
    if not (budgets and clocks):
        raise InvalidInput(
            "the two reports have no budget or no clock in common: measure both with the same --tokens and --clock"
        )
    found: list[Difference] = []
    pairs: list[_AnswerPair] = []
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
            found += _answer_differences(chosen, clock, category, budgets, ks, whole=whole, seed=seed)
    first, second = _answers(a, clocks[0]), _answers(b, clocks[0])
    budget = nearest_budget(budgets)
    return Comparison(
        a=a,
        b=b,
        differences=tuple(found),
        changed=_changed_answers(pairs, budget),
        budget=budget,
        matched=len(pairs),
        unmatched=len(first.keys() ^ second.keys()),
        resampled="conversations" if enough_conversations([answer for answer, _ in pairs]) else "questions",
    )


def _answer_differences(
    pairs: list[_AnswerPair], clock: str, category: str, budgets: list[int], ks: list[int], *, whole: bool, seed: int
) -> list[Difference]:
    """The differences of every metric over these pairs."""
    of_a, of_b = (metric_values([pair[side] for pair in pairs], budgets, ks) for side in (0, 1))
    drawn = resampling_groups([pair[0].conversation for pair in pairs], whole=whole)
    return paired(of_a, of_b, metric_columns(budgets, ks), drawn, clock=clock, category=category, seed=seed)


def _changed_answers(pairs: list[_AnswerPair], budget: int) -> tuple[Changed, ...]:
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


# Pairs two reports over the same requests of the same people.


_RequestPair = tuple[RequestAnswer, RequestAnswer]


def compare_requests(a: Report, b: Report, seed: int = 0) -> Comparison:
    """Compares b with a over the requests that both were asked, without a budget and within those that both have. What changed
    is told without a budget, where both measured that, the requests that are lost first. Raises `InvalidInput` where they have
    no request in common, or differ in how many share a conversation."""
    if a.run.talk != b.run.talk:
        raise InvalidInput("in one of the two reports more requests share a conversation: measure both with the same --talk")
    of_b = {(answer.conversation, answer.id, answer.budget): answer for answer in b.asked_requests}
    pairs = [
        (answer, of_b[key]) for answer in a.asked_requests if (key := (answer.conversation, answer.id, answer.budget)) in of_b
    ]
    if not pairs:
        raise InvalidInput("the two reports have no question in common: measure both on the same data")
    budgets = sorted({one.budget for one, _ in pairs})
    first = [pair for pair in pairs if pair[0].budget == budgets[0]]
    differences: list[Difference] = []
    for budget in budgets:
        within = [pair for pair in pairs if pair[0].budget == budget]
        for category in ["", *sorted({one.category for one, _ in within if one.category})]:
            chosen = [pair for pair in within if category in ("", pair[0].category)]
            differences += _request_differences(chosen, a.run.clocks[0], category, budget, seed)
    changed = [_changed_requests(one, two) for one, two in first if one.found != two.found]
    everyone = {(answer.conversation, answer.id) for report in (a, b) for answer in report.asked_requests}
    return Comparison(
        a=a,
        b=b,
        differences=tuple(differences),
        changed=tuple(sorted(changed, key=lambda change: change.b - change.a)),
        budget=budgets[0],
        matched=len(first),
        unmatched=len(everyone) - len(first),
        resampled="questions",
    )


def _request_differences(pairs: Sequence[_RequestPair], clock: str, category: str, budget: int, seed: int) -> list[Difference]:
    of_a, of_b = (_values([pair[side] for pair in pairs]) for side in (0, 1))
    columns = [(metric.name, budget) for metric in REQUEST]
    drawn = resampling_groups([""] * len(pairs), whole=False)
    return paired(of_a, of_b, columns, drawn, clock=clock, category=category, seed=seed)


def _values(answers: Sequence[RequestAnswer]) -> NDArray[np.float64]:
    """A row for each answer, a column for each metric of `REQUEST`."""
    return np.array([_row(answer) for answer in answers], dtype=np.float64)


def _row(answer: RequestAnswer) -> list[float]:
    needless = float(answer.searched_items > 0) if answer.found is None else nan
    found, alone = (nan, nan) if answer.found is None else (float(answer.found), float(answer.alone))
    return [found, alone, needless, answer.standing, answer.new]


def _changed_requests(a: RequestAnswer, b: RequestAnswer) -> Changed:
    return Changed(
        conversation=a.conversation,
        id=a.id,
        question=a.question,
        category=a.category,
        a=float(bool(a.found)),
        b=float(bool(b.found)),
    )
