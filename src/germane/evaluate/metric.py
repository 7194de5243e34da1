"""Metric: the measured quantities: name, description for readers, and the function that takes each from an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.answered import Answered, Shown
from germane.evaluate.recall import (
    any_at,
    any_within,
    every_at,
    every_within,
    fraction_at,
    fraction_within,
    touched_within,
)

__all__ = ["AT", "METRICS", "REQUEST", "WITHIN", "Metric", "metric", "metric_columns", "metric_values"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A quantity that is measured of each answer. `unit` is how a reader sees it: a share in [0, 1] as per cent, or a number of
    tokens. `better` says whether more or less is good; None for neither."""

    name: str
    label: str
    says: str
    unit: Literal["share", "tokens"] = "share"
    better: Literal["more", "less"] | None = "more"


WITHIN = (
    Metric(name="fraction", label="evidence", says="the share of a question's evidence that is shown"),
    Metric(name="every", label="all of it", says="questions of which all the evidence is shown, whole"),
    Metric(name="any", label="some of it", says="questions of which some evidence is shown"),
    Metric(
        name="touched", label="any part of a message", says="the share of the evidence messages that are shown in part at least"
    ),
    Metric(name="contained", label="answer contained", says="questions whose answer stands in the added text, word for word"),
    Metric(name="words", label="answer's words", says="the share of the answer's content words in the added text"),
    Metric(name="redundancy", label="redundancy", says="the share of shown items that nearly repeat another", better="less"),
    Metric(name="stale", label="stale", says="questions shown what was replaced, without what replaced it", better="less"),
    Metric(name="current", label="current value", says="questions about what was replaced, shown what replaced it"),
    Metric(name="unmarked", label="outdated, unmarked", says="those shown what was replaced, without a mark", better="less"),
    Metric(name="tokens", label="tokens used", says="tokens of all the added text", unit="tokens", better=None),
)
"""Metrics within a budget (tokens of all the added text)."""

AT = (
    Metric(name="fraction_at", label="evidence", says="the share of a question's evidence among the first k"),
    Metric(name="every_at", label="all of it", says="questions of which all the evidence is among the first k"),
    Metric(name="any_at", label="some of it", says="questions of which some evidence is among the first k"),
)
"""Metrics among the k highest ranks, whatever their length."""

REQUEST = (
    Metric(name="found", label="found", says="requests of which all that is needed stands in the prompt"),
    Metric(name="alone", label="outdated alone", says="requests shown outdated text without all that is needed", better="less"),
    Metric(name="needless", label="needless", says="requests that need nothing and got items all the same", better="less"),
    Metric(name="standing", label="standing", says="tokens beside the caller's own messages", unit="tokens", better=None),
    Metric(name="new", label="new", says="tokens that the turn added", unit="tokens", better=None),
)
"""Metrics of a person's requests, within a budget or without one."""

METRICS = (*WITHIN, *AT, *REQUEST)

_WITHIN: dict[str, Callable[[Shown], float]] = {
    "fraction": lambda shown: fraction_within(shown.shares),
    "every": lambda shown: every_within(shown.shares),
    "any": lambda shown: any_within(shown.shares),
    "touched": lambda shown: touched_within(shown.shares),
    "contained": lambda shown: _number(shown.contained),
    "words": lambda shown: _number(shown.words),
    "redundancy": lambda shown: _number(shown.redundancy),
    "stale": lambda shown: _number(shown.stale),
    "current": lambda shown: _number(shown.current),
    "unmarked": lambda shown: _number(shown.unmarked),
    "tokens": lambda shown: float(shown.tokens),
}
_AT: dict[str, Callable[[Sequence[int | None], int], float]] = {
    "fraction_at": fraction_at,
    "every_at": every_at,
    "any_at": any_at,
}


def metric(name: str) -> Metric:
    """The metric called `name`. Raises `KeyError` for an unknown name."""
    return {metric.name: metric for metric in METRICS}[name]


def metric_columns(budgets: Sequence[int], ks: Sequence[int]) -> list[tuple[str, int]]:
    """(name of a metric, budget or k) of each column that `metric_values` returns, in the same order."""
    within = [(metric.name, budget) for metric in WITHIN for budget in budgets]
    return within + [(metric.name, k) for metric in AT for k in ks]


def metric_values(answered: Sequence[Answered], budgets: Sequence[int], ks: Sequence[int]) -> NDArray[np.float64]:
    """The value of every metric for each answer, shape (answers, columns); NaN where a metric doesn't apply to a question."""
    rows = []
    for answer in answered:
        shown = {each.budget: each for each in answer.shown}
        row = [_WITHIN[metric.name](shown[budget]) for metric in WITHIN for budget in budgets]
        rows.append(row + [_AT[metric.name](answer.ranks, k) for metric in AT for k in ks])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(metric_columns(budgets, ks)))


def _number(value: float | None) -> float:
    return nan if value is None else float(value)
