"""Calibrate: turns the scores of candidates into probabilities, P = σ(slope · s + intercept) (Platt 1999).

A loss that orders a list doesn't tell how many of its candidates are relevant, and a model is overconfident on the data it was
fitted on. Slope and intercept are therefore fitted to the scores of held-out conversations. Two numbers from hundreds of
thousands of candidates don't overfit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.loss import Problem, logistic
from germane.evaluate.fit.newton import minimise

__all__ = ["Calibration", "calibrate"]


class Calibration(NamedTuple):
    """A linear map from scores to log-odds."""

    slope: float = 1.0
    intercept: float = 0.0
    weight: float = 0.0
    """Of a feature that is the same for all candidates of a question."""

    def log_odds(self, scores: NDArray[np.float64], shared: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """`shared` is that feature."""
        return self.slope * scores + self.weight * shared + self.intercept


def calibrate(
    scores: NDArray[np.float64],
    relevant: NDArray[np.bool_],
    offset: NDArray[np.float64] | None = None,
    *,
    shared: NDArray[np.float64] | None = None,
    slope: float | None = None,
) -> Calibration:
    """Fits the calibration with the lowest log loss. `scores`, `relevant`, `offset` and `shared` have shape (n,); `offset` is
    added to the log-odds, `shared` is a feature whose weight is fitted too; a given `slope` isn't fitted. A tiny
    penalty keeps the result finite where the data don't determine it, for example where all candidates are alike."""
    spread = max(float(scores.std()), 1e-9)
    features = np.column_stack((scores / spread, np.ones(len(scores))))
    beside = np.zeros(len(scores)) if offset is None else offset
    if slope is not None:
        beside, features = beside + slope * scores, features[:, 1:]
    fits_weight = False
    if shared is not None and np.ptp(shared) > 1e-9:
        fits_weight, features = True, np.column_stack((shared, features))
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
    return Calibration(
        slope=float(found[-2] / spread) if slope is None else slope,
        intercept=float(found[-1]),
        weight=float(found[0]) if fits_weight else 0.0,
    )
