"""Loss: what a set of weights makes of lists with known answers. Convex in the weights; value, gradient and Hessian at once.

`softmax` compares the candidates of a list with one another and with nothing else: −Σ over the relevant of ln softmax(s), each
list counting once however many are relevant (ListNet's top-one loss; Cao et al. 2007). What all candidates of a question have
in common, such as how much there is to be found, is left to calibration. `logistic` asks of each candidate by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.newton import Function

__all__ = ["Problem", "logistic", "softmax"]

Floats = NDArray[np.float64]

_WEIGHTLESS = 1e-7
"""What has less probability than this bends the function too little to be worth adding to its curvature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Lists laid end to end. `starts` says where each begins; none is empty and each has a relevant row.
    `offset` is the part of each row's score that isn't to be fitted. The penalty is ½ Σ `stiffness` · (w − `centre`)²."""

    features: Floats
    relevant: NDArray[np.bool_]
    starts: NDArray[np.intp]
    offset: Floats
    centre: Floats
    stiffness: Floats

    @property
    def counts(self) -> NDArray[np.intp]:
        return np.diff(self.starts, append=len(self.relevant))


def softmax(problem: Problem) -> Function:
    """In each list the relevant share one unit of weight between them."""
    features, starts, counts = problem.features, problem.starts, problem.counts
    positives = np.add.reduceat(problem.relevant.astype(np.float64), starts)
    target = problem.relevant / np.repeat(positives, counts)
    pull = features.T @ target

    def function(weights: Floats) -> tuple[float, Floats, Floats]:
        scores = features @ weights + problem.offset
        scores -= np.repeat(np.maximum.reduceat(scores, starts), counts)
        odds = np.exp(scores)
        sums = np.add.reduceat(odds, starts)
        likely = odds / np.repeat(sums, counts)
        away = weights - problem.centre
        value = float(np.log(sums).sum() - target @ scores + 0.5 * problem.stiffness @ away**2)
        gradient = features.T @ likely - pull + problem.stiffness * away
        matter = np.flatnonzero(likely > _WEIGHTLESS)
        heavy = features[matter] * likely[matter, None]
        means = np.add.reduceat(features * likely[:, None], starts)
        hessian = heavy.T @ features[matter] - means.T @ means + np.diag(problem.stiffness)
        return value, gradient, hessian

    return function


def logistic(problem: Problem) -> Function:
    """Every row counts once. An intercept is a feature like any other: a column of ones."""
    features, relevant = problem.features, problem.relevant.astype(np.float64)

    def function(weights: Floats) -> tuple[float, Floats, Floats]:
        scores = features @ weights + problem.offset
        likely = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
        away = weights - problem.centre
        value = float(np.logaddexp(0, scores).sum() - relevant @ scores + 0.5 * problem.stiffness @ away**2)
        gradient = features.T @ (likely - relevant) + problem.stiffness * away
        bend = likely * (1 - likely)
        hessian = (features * bend[:, None]).T @ features + np.diag(problem.stiffness)
        return value, gradient, hessian

    return function
