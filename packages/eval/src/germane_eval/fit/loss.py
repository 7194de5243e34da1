"""Loss: convex losses of a weight vector on labelled candidate lists, their minimum, and calibrated probabilities.

Each loss has its gradient and Hessian. `softmax` compares the candidates of a list with one another: −Σ ln softmax(s) over
the relevant ones, where each list counts once however many are relevant (the top-one loss of ListNet; Cao et al. 2007).
What all candidates of a question have in common, such as how much there is to find, is left to the calibration. `logistic`
is the log loss of each candidate by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


# Newton's method for the minimum of a smooth convex function of a few dozen variables. Each step solves H d = −g and is
# halved until the value falls (Armijo's rule; Nocedal and Wright 2006, algorithm 3.2). About ten steps reach machine
# precision. With so few variables this is quicker and more reliable than methods that estimate the curvature.


Function = Callable[[Floats], tuple[float, Floats, Floats]]
"""Returns value, gradient, shape (k,), and Hessian, shape (k, k), at a point, shape (k,)."""

_DAMPING = 1e-9
_SUFFICIENT_DECREASE = 1e-4
_MIN_STEP = 1e-10


def minimise(function: Function, start: Floats, *, steps: int = 100, tolerance: float = 1e-9) -> Floats:
    """Returns the point, shape (k,), at which the next step would gain less than `tolerance` of the value, or the last point
    after `steps` steps. `function` must be convex and bounded below."""
    point = np.array(start, dtype=np.float64)
    value, gradient, hessian = function(point)
    for _ in range(steps):
        damped = hessian + _DAMPING * (1 + np.trace(hessian) / len(point)) * np.eye(len(point))
        step = np.linalg.solve(damped, -gradient)
        gain = float(-gradient @ step)
        if gain <= tolerance * (1 + abs(value)):
            break
        length = 1.0
        while length > _MIN_STEP:
            found = function(point + length * step)
            if found[0] <= value - _SUFFICIENT_DECREASE * length * gain:
                break
            length /= 2
        else:
            break
        point = point + length * step
        value, gradient, hessian = found
    return point


# Turns the scores of candidates into probabilities, P = σ(slope · s + intercept) (Platt 1999). A loss that orders a
# list doesn't tell how many of its candidates are relevant, and a model is overconfident on the data it was fitted on.
# Slope and intercept are therefore fitted to the scores of held-out conversations. Two numbers from hundreds of
# thousands of candidates don't overfit.


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


# How well predicted probabilities match the observed share of relevant candidates (SCORE-2). The bins are fixed, and
# narrow at small probabilities, because almost all candidates of a list are below 1 %. The expected calibration error
# (ECE) is the mean over candidates of |predicted − observed| by bin. On lists of a thousand candidates it is small for
# every model; `ratio` tells more there.


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
