"""Reliability: whether what is said to be likely is so as often as it is said (SCORE-2).

Bins are fixed, and narrow where the candidates are: nearly all of a list is below one in a hundred. The expected calibration
error is the mean over candidates of |said − seen| by bin; on a list of a thousand candidates it is small whatever the model,
so the error by relevant candidate stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["EDGES", "Bin", "Reliability", "reliability"]

EDGES = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Candidates whose P is in [low, high): how many, what was said of them in the mean, how many turned out relevant."""

    low: float
    high: float
    candidates: int
    said: float
    seen: float
    share: float
    """Of everything relevant, how much is in this bin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    candidates: int
    relevant: int
    log_loss: float
    """Mean −ln P of what came true, a candidate."""
    brier: float
    ece: float
    """Mean |said − seen| over candidates, by bin."""
    ratio: float
    """Candidates said to be relevant (Σ P) for each that is."""
    bins: Sequence[Bin]


def reliability(log_odds: NDArray[np.float64], relevant: NDArray[np.bool_]) -> Reliability:
    """Of these candidates, in any order. Both of shape (n,); n may be 0."""
    likely = 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))
    seen = relevant.astype(np.float64)
    many, positives = len(seen), float(seen.sum())
    place = np.clip(np.searchsorted(EDGES, likely, side="right") - 1, 0, len(EDGES) - 2)
    bins = []
    for number, (low, high) in enumerate(pairwise(EDGES)):
        here = place == number
        count = int(here.sum())
        if count:
            said, came = float(likely[here].mean()), float(seen[here].mean())
            bins.append(
                Bin(
                    low=low,
                    high=high,
                    candidates=count,
                    said=said,
                    seen=came,
                    share=float(seen[here].sum()) / max(1.0, positives),
                )
            )
    return Reliability(
        candidates=many,
        relevant=int(positives),
        log_loss=float((np.logaddexp(0, log_odds) - seen * log_odds).mean()) if many else 0.0,
        brier=float(((likely - seen) ** 2).mean()) if many else 0.0,
        ece=sum(one.candidates * abs(one.said - one.seen) for one in bins) / max(1, many),
        ratio=float(likely.sum()) / max(1.0, positives),
        bins=tuple(bins),
    )
