"""Adapt: a model moved by feedback as far as the feedback is worth.

What is learnt from is order: of what an assembly showed, the helpful is better than the rest, and the rest better than the
harmful (the softmax loss of each of these two comparisons). Intercepts stay: how much of everything is relevant can't be told
from what was shown. The weights start from the model there is and are held to it by a Gaussian of fixed width, so that a
handful of marks changes next to nothing and hundreds have the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.columns import JUDGED, Columns, Tables
from germane.evaluate.fit.feedback import Marked
from germane.evaluate.fit.loss import Problem, softmax
from germane.evaluate.fit.newton import minimise
from germane.search.relevance import matrix
from germane.types.evidence import FEATURES

__all__ = ["STRENGTH", "adapt"]

STRENGTH = 50.0
"""How hard a weight is held, as a penalty on standardised weights: about what fifty assemblies with marks are worth."""

_NARROW = 0.15
"""A feature that varies less than this among what was shown is held as if it did: it has taught little."""

Floats = NDArray[np.float64]
Comparison = tuple[Floats, NDArray[np.bool_]]


def adapt(feedback: Sequence[Marked], tables: Tables, *, strength: float = STRENGTH) -> tuple[Tables, dict[str, int]]:
    """The new model, and how many comparisons each of its columns learnt from. Columns without any stay as they are, and so
    do weights that are set by judgement."""
    columns = Columns(tables)
    adapted: dict[str, dict[str, float]] = {name: dict(table) for name, table in tables.items()}
    learnt: dict[str, int] = {}
    for name in columns.names:
        comparisons = [one for marked in feedback for one in _comparisons(marked, columns, name)]
        if comparisons:
            learnt[name] = len(comparisons)
            moved = _moved(comparisons, columns.weights(name), strength)
            adapted[name] |= {feature: weight for feature, weight in zip(FEATURES, moved.tolist(), strict=True) if weight}
    return adapted, learnt


def _comparisons(marked: Marked, columns: Columns, name: str) -> Iterator[Comparison]:
    table = matrix([one.evidence for one in marked.shown])
    here = columns.of(table) == columns.names.index(name)
    marks = np.array([one.mark for one in marked.shown], dtype=str)[here]
    table = np.nan_to_num(table[here])
    helpful, harmful = marks == "helpful", marks == "harmful"
    for rows, better in ((np.ones(len(marks), np.bool_), helpful), (~helpful, ~harmful)):
        chosen = better[rows]
        if chosen.any() and not chosen.all():
            yield table[rows], chosen


def _moved(comparisons: Sequence[Comparison], weights: Floats, strength: float) -> Floats:
    rows = np.concatenate([table for table, _ in comparisons])
    counts = np.array([len(better) for _, better in comparisons], np.intp)
    where = np.flatnonzero((rows.std(axis=0) > 1e-9) & ~np.isin(FEATURES, JUDGED))
    spread = np.maximum(rows.std(axis=0), _NARROW)
    if not len(where):
        return weights
    fixed = weights.copy()
    fixed[where] = 0.0
    centre = weights[where] * spread[where]
    problem = Problem(
        features=rows[:, where] / spread[where],
        relevant=np.concatenate([better for _, better in comparisons]),
        starts=np.cumsum(counts) - counts,
        offset=rows @ fixed,
        centre=centre,
        stiffness=np.full(len(where), strength),
    )
    moved = weights.copy()
    moved[where] = minimise(softmax(problem), centre) / spread[where]
    return moved
