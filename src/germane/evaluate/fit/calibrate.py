"""Calibrate: from scores that put candidates in order to probabilities that come true.

The losses that order a list best say nothing of how many of its candidates are relevant, and a model is surer of what it was
fitted on than of anything else. So slope and intercept of P = σ(slope · s + intercept) are fitted to the scores of
conversations that were held out (Platt 1999). Two numbers from hundreds of thousands of candidates: they don't overfit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.loss import Problem, logistic
from germane.evaluate.fit.newton import minimise

__all__ = ["Line", "calibrate"]


class Line(NamedTuple):
    slope: float = 1.0
    intercept: float = 0.0

    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.slope * scores + self.intercept


def calibrate(
    scores: NDArray[np.float64],
    relevant: NDArray[np.bool_],
    offset: NDArray[np.float64] | None = None,
    *,
    slope: float | None = None,
) -> Line:
    """The line of the least log loss, where `offset` is added to its log-odds; with `slope` given, its intercept alone. A trace
    of a penalty holds it where the data say nothing, as where all candidates are alike."""
    spread = max(float(scores.std()), 1e-9)
    features = np.column_stack((scores / spread, np.ones(len(scores))))
    beside = np.zeros(len(scores)) if offset is None else offset
    if slope is not None:
        beside, features = beside + slope * scores, features[:, 1:]
    many = features.shape[1]
    stiffness = np.full(many, 1e-6)
    stiffness[-1] = 1e-3
    start = np.zeros(many)
    start[-1] = np.log((relevant.sum() + 0.5) / ((~relevant).sum() + 0.5))
    problem = Problem(
        features=features,
        relevant=relevant,
        starts=np.zeros(1, np.intp),
        offset=beside,
        centre=start,
        stiffness=stiffness,
    )
    found = minimise(logistic(problem), start)
    return Line(slope=float(found[0] / spread) if slope is None else slope, intercept=float(found[-1]))
