"""Interval: confidence intervals of means, by the percentile bootstrap (Efron and Tibshirani 1993, chapter 13).

Questions of one conversation are alike, so whole conversations are drawn (the cluster bootstrap) where there are at least ten.
With fewer, that interval would be too narrow: questions are drawn instead, and the interval then says nothing about how much
conversations differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENOUGH", "LEVEL", "Interval", "intervals", "resampling_groups"]

ENOUGH = 10
"""The number of conversations from which on whole conversations are drawn."""

LEVEL = 0.95

_DRAWS = 2000
_MIN_VALUES = 5
"""Fewer values get no interval: it would suggest a precision that isn't there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean of `count` values. `low` and `high` bound the middle 95 % of the resampled means; None for fewer than five
    values."""

    mean: float
    low: float | None
    high: float | None
    count: int


def resampling_groups(conversations: Sequence[str], *, whole: bool) -> NDArray[np.intp]:
    """The group of each question, shape (questions,): questions of one group are drawn together. With `whole` a conversation
    is a group, else each question is one."""
    if whole:
        return np.unique(np.asarray(conversations, dtype=str), return_inverse=True)[1].astype(np.intp).ravel()
    return np.arange(len(conversations), dtype=np.intp)


def intervals(values: NDArray[np.float64], drawn: NDArray[np.intp], seed: int = 0) -> list[Interval]:
    """The interval of each column of `values`, shape (questions, columns), where NaN is a missing value. `drawn` are the
    groups of the questions, shape (questions,). The same seed gives the same intervals."""
    known = ~np.isnan(values)
    size = int(drawn.max()) + 1 if len(drawn) else 0
    sums, counts = np.zeros((size, values.shape[1])), np.zeros((size, values.shape[1]))
    np.add.at(sums, drawn, np.where(known, values, 0.0))
    np.add.at(counts, drawn, known)
    total = counts.sum(axis=0)
    if not size:
        return [Interval(mean=nan, low=None, high=None, count=0) for _ in range(values.shape[1])]
    random = np.random.default_rng(seed)
    times = random.multinomial(size, np.full(size, 1 / size), size=_DRAWS).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums.sum(axis=0) / total
        draws = (times @ sums) / (times @ counts)
    return [_interval(means[column], draws[:, column], int(total[column])) for column in range(values.shape[1])]


def _interval(mean: float, draws: NDArray[np.float64], count: int) -> Interval:
    if count < _MIN_VALUES:
        return Interval(mean=float(mean), low=None, high=None, count=count)
    low, high = np.nanquantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(mean=float(mean), low=float(low), high=float(high), count=count)
