"""Loss: convex losses of a weight vector on labelled candidate lists, each with its gradient and Hessian.

`softmax` compares the candidates of a list with one another: −Σ ln softmax(s) over the relevant ones, where each list counts
once however many are relevant (the top-one loss of ListNet; Cao et al. 2007). What all candidates of a question have in common,
such as how much there is to find, is left to the calibration. `logistic` is the log loss of each candidate by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.newton import Function

__all__ = ["Problem", "logistic", "softmax"]

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-7
"""Candidates of a lower probability are left out of the Hessian: they contribute too little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The data of a fit: n rows of k features, the lists end to end. No list is empty, and each has a relevant row. The penalty
    is ½ Σ `stiffness` · (w − `centre`)²."""

    features: Floats
    """Shape (n, k)."""
    relevant: NDArray[np.bool_]
    """Shape (n,)."""
    starts: NDArray[np.intp]
    """First row of each list, shape (lists,)."""
    offset: Floats
    """The fixed part of each row's score, shape (n,)."""
    centre: Floats
    """Shape (k,)."""
    stiffness: Floats
    """Shape (k,)."""

    @property
    def counts(self) -> NDArray[np.intp]:
        """Number of rows of each list, shape (lists,)."""
        return np.diff(self.starts, append=len(self.relevant))


def softmax(problem: Problem) -> Function:
    """The listwise loss. The relevant candidates of a list share one unit of weight."""
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
        matter = np.flatnonzero(likely > _NEGLIGIBLE)
        heavy = features[matter] * likely[matter, None]
        means = np.add.reduceat(features * likely[:, None], starts)
        hessian = heavy.T @ features[matter] - means.T @ means + np.diag(problem.stiffness)
        return value, gradient, hessian

    return function


def logistic(problem: Problem) -> Function:
    """The log loss, in which every row counts once. An intercept is a feature that is 1 in all rows."""
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
