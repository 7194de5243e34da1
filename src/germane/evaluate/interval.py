"""Interval: how far a mean could be off, had other questions been asked: the percentile bootstrap.

Questions of one conversation are alike, so whole conversations are drawn (the cluster bootstrap) where there are enough of
them; a handful of conversations draws too narrow an interval, and then questions are drawn, which says nothing of how much
conversations differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENOUGH", "LEVEL", "Interval", "groups", "intervals"]

ENOUGH = 10
"""Conversations from which they are drawn whole."""

LEVEL = 0.95

_DRAWS = 2000
_FEWEST = 5
"""Values below which an interval would be mere show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """`low` and `high` hold the middle 95 % of the drawn means; None where there are fewer than five values."""

    mean: float
    low: float | None
    high: float | None
    count: int


def groups(conversations: Sequence[str], *, whole: bool) -> NDArray[np.intp]:
    """Which questions are drawn together: those of one conversation, or each by itself."""
    if whole:
        return np.unique(np.asarray(conversations, dtype=str), return_inverse=True)[1].astype(np.intp).ravel()
    return np.arange(len(conversations), dtype=np.intp)


def intervals(values: NDArray[np.float64], drawn: NDArray[np.intp], seed: int = 0) -> list[Interval]:
    """An interval for each column of `values`, shape (questions, columns); NaN is no value. `drawn` are the groups. The same
    seed draws the same."""
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
    return [_interval(means[at], draws[:, at], int(total[at])) for at in range(values.shape[1])]


def _interval(mean: float, draws: NDArray[np.float64], count: int) -> Interval:
    if count < _FEWEST:
        return Interval(mean=float(mean), low=None, high=None, count=count)
    low, high = np.nanquantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(mean=float(mean), low=float(low), high=float(high), count=count)
