"""Fitting: fits one column of the relevance model to the candidate lists that it scores.

The weights are fitted by a listwise loss, which orders candidates; slope and intercept are then fitted to the scores of
held-out conversations. Weights set by hand (`JUDGED`) stay as they are, and so do the weights of features that never differ
between the candidates of a question; both enter as a fixed addition to the log-odds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.evaluate.fit.calibrate import Calibration, calibrate
from germane.evaluate.fit.columns import JUDGED
from germane.evaluate.fit.folds import folds
from germane.evaluate.fit.lists import Candidates
from germane.evaluate.fit.loss import Problem, logistic, softmax
from germane.evaluate.fit.newton import minimise
from germane.evaluate.fit.two_pass import NEIGHBOURS, near
from germane.search.neighbours import neighbours
from germane.search.products import COEFFICIENTS, design
from germane.types.evidence import FEATURES

__all__ = ["Column", "Options", "fit_column"]

Floats = NDArray[np.float64]
Loss = Literal["softmax", "logistic"]
_TERMS = FEATURES.index("terms")
_PASSES = 2
"""Fits with `neighbours`, each by the probabilities of the fit before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a fit."""

    loss: Loss = "softmax"
    l2: float = 10.0
    """Penalty on the distance of each standardised weight from its start."""
    folds: int | None = None
    """Number of cross-validation folds; None makes one fold of each conversation."""
    keep: bool = False
    """Start from the weights of the current model instead of zero."""
    without: frozenset[str] = frozenset()
    """Features to leave out: their weights become zero."""

    @classmethod
    def of(cls, *, loss: str, l2: float, folds: int | None, without: Iterable[str]) -> Options:
        """Options from a user's input. Raises `InvalidInput` for an unknown loss or feature."""
        chosen: dict[str, Loss] = {"softmax": "softmax", "logistic": "logistic"}
        if loss not in chosen:
            raise InvalidInput(f"loss must be softmax or logistic, not {loss[:40]!r}")
        if strangers := sorted(set(without) - set(COEFFICIENTS)):
            raise InvalidInput(f"there is no feature {strangers[0]!r} to leave out: there are {', '.join(COEFFICIENTS)}")
        return cls(loss=chosen[loss], l2=l2, folds=folds, without=frozenset(without))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A fitted column of the model."""

    weights: Floats
    """Shape (coefficients,), in the order of `COEFFICIENTS`; the slope of the calibration is multiplied in."""
    intercept: float
    fitted: tuple[str, ...]
    """Names of the features whose weights were fitted."""
    calibration: Calibration
    held_out: Sequence[Floats]
    """Calibrated log-odds of the candidates of each list, by the fold that wasn't fitted on it."""


def fit_column(lists: Sequence[Candidates], start: Floats, options: Options, step: Callable[[], None] = lambda: None) -> Column:
    """Fits a column to `lists`, of which at least one has a relevant candidate. `start` are the current weights, shape
    (coefficients,); `step` is called after each fold and after the final fit.

    The feature `neighbours` comes from the model itself. Each fold therefore fits weights without it, computes it from these
    weights' probabilities, and fits again, twice: as in a search, the first pass has the same weights, with `neighbours` = 0.

    With a single conversation nothing can be held out: the calibration then uses the fitted data, and its probabilities are too
    confident.
    """
    tables = [_plain(one) for one in lists]
    relevant = [one.relevant for one in lists]
    links = [near(one) for one in lists]
    free = _free(tables, links, options)
    beside = np.where(np.isin(COEFFICIENTS, [*free, *options.without, "terms"]), 0.0, start)
    judged = [table @ beside for table in tables]
    where = np.array([COEFFICIENTS.index(name) for name in free], np.intp)
    centre = start[where] if options.keep else np.zeros(len(where))

    def completed(i: int, model: _FirstPass) -> Floats:
        table = tables[i].copy()
        odds = model.calibration.log_odds(table @ model.weights, table[:, _TERMS])
        table[:, NEIGHBOURS] = neighbours(links[i], odds + judged[i])
        return table

    def fitted(chosen: Sequence[int]) -> _FirstPass:
        labels, offset = [relevant[i] for i in chosen], np.concatenate([judged[i] for i in chosen])
        known, model = [tables[i] for i in chosen], _FirstPass(np.zeros(len(COEFFICIENTS)), Calibration())
        for _ in range(1 + _PASSES * ("neighbours" in free)):
            weights = np.zeros(len(COEFFICIENTS))
            weights[where] = _weights(known, labels, where, centre, model.weights[where], options)
            scores, shared = (np.concatenate(parts) for parts in ([t @ weights for t in known], [t[:, _TERMS] for t in known]))
            model = _FirstPass(weights, calibrate(scores, np.concatenate(labels), offset, shared=shared))
            known = [completed(i, model) for i in chosen]
        step()
        return model

    scores: list[Floats] = [np.empty(0)] * len(lists)
    for learnt, held in folds(lists, options.folds):
        model = fitted(learnt.tolist())
        for i in held.tolist():
            scores[i] = completed(i, model) @ model.weights
    model = fitted(range(len(lists)))
    weights = model.weights
    if any(len(score) != len(one) for score, one in zip(scores, lists, strict=True)):
        scores = [completed(i, model) @ weights for i in range(len(lists))]
    terms = [table[:, _TERMS] for table in tables]
    calibration = calibrate(
        np.concatenate(scores), np.concatenate(relevant), np.concatenate(judged), shared=np.concatenate(terms)
    )
    beside = beside + np.where(np.arange(len(COEFFICIENTS)) == _TERMS, calibration.weight, 0.0)
    return Column(
        weights=weights * calibration.slope + beside,
        intercept=calibration.intercept,
        fitted=tuple(free),
        calibration=calibration,
        held_out=[
            calibration.log_odds(score, shared) + more for score, shared, more in zip(scores, terms, judged, strict=True)
        ],
    )


class _FirstPass(NamedTuple):
    """Weights, and how their scores become probabilities."""

    weights: Floats
    calibration: Calibration


def _plain(one: Candidates) -> Floats:
    """Features and products of a list's candidates, with `neighbours` = 0."""
    table = np.nan_to_num(one.table)
    table[:, NEIGHBOURS] = 0.0
    return design(table)


def _free(tables: Sequence[Floats], links: Sequence[NDArray[np.intp]], options: Options) -> list[str]:
    """The coefficients to fit: of what differs between the candidates of at least one list."""
    tells = np.any([np.ptp(table, axis=0) > 1e-9 for table in tables if len(table)], axis=0)
    tells[NEIGHBOURS] = any((one >= 0).any() for one in links)
    kept = {*JUDGED, *options.without}
    return [name for name, varies in zip(COEFFICIENTS, tells.tolist(), strict=True) if varies and name not in kept]


def _weights(
    tables: Sequence[Floats],
    relevant: Sequence[NDArray[np.bool_]],
    where: NDArray[np.intp],
    centre: Floats,
    begin: Floats,
    options: Options,
) -> Floats:
    """Fitted weights of the coefficients `where`, shape (len(where),), searched from `begin`. Lists without a relevant
    candidate teach no order and are left out."""
    useful = [i for i, one in enumerate(relevant) if one.any()]
    if not useful:
        return centre
    rows = np.concatenate([tables[i] for i in useful])
    counts = np.array([len(tables[i]) for i in useful], np.intp)
    features = rows[:, where]
    middle, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread < 1e-9] = 1.0
    features = (features - middle) / spread
    labels = np.concatenate([relevant[i] for i in useful])
    start, first, stiffness = centre * spread, begin * spread, np.full(len(where), options.l2)
    if options.loss == "logistic":
        features = np.column_stack((features, np.ones(len(features))))
        start, first, stiffness = np.append(start, -5.0), np.append(first, -5.0), np.append(stiffness, 1e-6)
    problem = Problem(
        features=features,
        relevant=labels,
        starts=np.cumsum(counts) - counts,
        offset=np.zeros(len(features)),
        centre=start,
        stiffness=stiffness,
    )
    found = minimise((softmax if options.loss == "softmax" else logistic)(problem), first, tolerance=1e-8)
    weights: Floats = found[: len(where)] / spread
    return weights
