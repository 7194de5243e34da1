"""Reliability: how well predicted probabilities match the observed share of relevant candidates (SCORE-2).

The bins are fixed, and narrow at small probabilities, because almost all candidates of a list are below 1 %. The expected
calibration error (ECE) is the mean over candidates of |predicted − observed| by bin. On lists of a thousand candidates it is
small for every model; `ratio` tells more there.
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
    """The candidates whose predicted probability is in [low, high)."""

    low: float
    high: float
    candidates: int
    said: float
    """Mean predicted probability."""
    seen: float
    """Share of these candidates that are relevant, [0, 1]."""
    share: float
    """Share of all relevant candidates that are in this bin, [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Calibration figures of a set of candidates."""

    candidates: int
    relevant: int
    """Number of relevant candidates."""
    log_loss: float
    """Mean −ln P of the actual outcome."""
    brier: float
    """Mean squared error of P (Brier 1950)."""
    ece: float
    """Expected calibration error: mean |said − seen| over candidates, by bin."""
    ratio: float
    """Expected number of relevant candidates (Σ P) divided by the actual number; 1 is right."""
    bins: Sequence[Bin]


def reliability(log_odds: NDArray[np.float64], relevant: NDArray[np.bool_]) -> Reliability:
    """The reliability of n candidates in any order. Both arrays have shape (n,); n may be 0."""
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
