"""Fitting: one column of the model from the lists that are scored by it.

Order first, then probability: weights by the listwise loss, slope and intercept on the scores of held-out conversations.
What judgement set stays as it is, as log-odds beside the fitted ones, and so does a feature that never tells the candidates of
a question apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.evaluate.fit.calibrate import Line, calibrate
from germane.evaluate.fit.columns import JUDGED
from germane.evaluate.fit.folds import folds
from germane.evaluate.fit.lists import Candidates
from germane.evaluate.fit.loss import Problem, logistic, softmax
from germane.evaluate.fit.newton import minimise
from germane.types.evidence import FEATURES

__all__ = ["Column", "Options", "fit_column"]

Floats = NDArray[np.float64]
Loss = Literal["softmax", "logistic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`l2` pulls standardised weights towards where they start (zero, or the model's with `keep`); `without` are features
    left out: their weight becomes zero."""

    loss: Loss = "softmax"
    l2: float = 10.0
    folds: int | None = None
    keep: bool = False
    without: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *, loss: str, l2: float, folds: int | None, without: Iterable[str]) -> Options:
        """Checked. Raises `InvalidInput`."""
        chosen: dict[str, Loss] = {"softmax": "softmax", "logistic": "logistic"}
        if loss not in chosen:
            raise InvalidInput(f"loss must be softmax or logistic, not {loss[:40]!r}")
        if strangers := sorted(set(without) - set(FEATURES)):
            raise InvalidInput(f"there is no feature {strangers[0]!r} to leave out: there are {', '.join(FEATURES)}")
        return cls(loss=chosen[loss], l2=l2, folds=folds, without=frozenset(without))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`weights` in the order of `FEATURES`, slope included. `held_out` are the log-odds of each list by the fold that didn't
    see it, calibrated by `line`."""

    weights: Floats
    intercept: float
    fitted: tuple[str, ...]
    line: Line
    held_out: Sequence[Floats]


def fit_column(lists: Sequence[Candidates], start: Floats, options: Options, step: Callable[[], None] = lambda: None) -> Column:
    """From at least one list with something relevant in it. `start` are the weights so far; `step` is called after each of
    the folds and after the whole. Where there is but one conversation nothing can be held out, and the probabilities are
    calibrated on what was fitted on: too sure, but better than none."""
    tables = [np.nan_to_num(one.table) for one in lists]
    relevant = [one.relevant for one in lists]
    free = _free(tables, options)
    beside = np.where(np.isin(FEATURES, [*free, *options.without]), 0.0, start)
    where = np.array([FEATURES.index(name) for name in free], np.intp)
    centre = start[where] if options.keep else np.zeros(len(where))

    def fitted(chosen: Sequence[int]) -> Floats:
        weights = np.zeros(len(FEATURES))
        weights[where] = _weights([tables[i] for i in chosen], [relevant[i] for i in chosen], where, centre, options)
        step()
        return weights

    scores: list[Floats] = [np.empty(0)] * len(lists)
    for learnt, held in folds(lists, options.folds):
        weights = fitted(learnt.tolist())
        for i in held.tolist():
            scores[i] = tables[i] @ weights
    weights = fitted(range(len(lists)))
    if any(len(score) != len(one) for score, one in zip(scores, lists, strict=True)):
        scores = [table @ weights for table in tables]
    judged = [table @ beside for table in tables]
    line = calibrate(np.concatenate(scores), np.concatenate(relevant), np.concatenate(judged))
    return Column(
        weights=weights * line.slope + beside,
        intercept=line.intercept,
        fitted=tuple(free),
        line=line,
        held_out=[line.log_odds(score) + more for score, more in zip(scores, judged, strict=True)],
    )


def _free(tables: Sequence[Floats], options: Options) -> list[str]:
    tells = np.any([np.ptp(table, axis=0) > 1e-9 for table in tables if len(table)], axis=0)
    kept = {*JUDGED, *options.without}
    return [name for name, varies in zip(FEATURES, tells.tolist(), strict=True) if varies and name not in kept]


def _weights(
    tables: Sequence[Floats],
    relevant: Sequence[NDArray[np.bool_]],
    where: NDArray[np.intp],
    centre: Floats,
    options: Options,
) -> Floats:
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
    start, stiffness = centre * spread, np.full(len(where), options.l2)
    if options.loss == "logistic":
        features = np.column_stack((features, np.ones(len(features))))
        start, stiffness = np.append(start, -5.0), np.append(stiffness, 1e-6)
    problem = Problem(
        features=features,
        relevant=labels,
        starts=np.cumsum(counts) - counts,
        offset=np.zeros(len(features)),
        centre=start,
        stiffness=stiffness,
    )
    found = minimise((softmax if options.loss == "softmax" else logistic)(problem), start, tolerance=1e-8)
    weights: Floats = found[: len(where)] / spread
    return weights
