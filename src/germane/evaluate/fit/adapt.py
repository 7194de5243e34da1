"""Adapt: moves the weights of a relevance model by feedback on shown items.

Feedback teaches an order: of the items that one assembly showed, the helpful ones are better than the others, and the unmarked
ones better than the harmful ones (a softmax loss for each of the two comparisons). Intercepts stay, because shown items don't
tell how many of all candidates are relevant. A Gaussian prior of fixed width holds the weights to the current model: a handful
of marks changes almost nothing, and hundreds of marks outweigh the prior.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.columns import JUDGED, ModelColumns, Tables
from germane.evaluate.fit.feedback import Marked
from germane.evaluate.fit.loss import Problem, softmax
from germane.evaluate.fit.newton import minimise
from germane.search.products import COEFFICIENTS, design
from germane.search.relevance import matrix

__all__ = ["STRENGTH", "adapt"]

STRENGTH = 50.0
"""Penalty on standardised weights: the current model weighs as much as about fifty assemblies with marks."""

_MIN_SPREAD = 0.15
"""Lower bound of a feature's standard deviation: a feature that hardly varies among the shown items teaches little."""

Floats = NDArray[np.float64]
Comparison = tuple[Floats, NDArray[np.bool_]]


def adapt(feedback: Sequence[Marked], tables: Tables, *, strength: float = STRENGTH) -> tuple[Tables, dict[str, int]]:
    """Returns the new model, and the number of comparisons by column. Columns without comparisons, and the weights in `JUDGED`,
    stay as they are. A higher `strength` holds the weights closer to `tables`."""
    columns = ModelColumns(tables)
    adapted: dict[str, dict[str, float]] = {name: dict(table) for name, table in tables.items()}
    learnt: dict[str, int] = {}
    for name in columns.names:
        comparisons = [comparison for marked in feedback for comparison in _comparisons(marked, columns, name)]
        if comparisons:
            learnt[name] = len(comparisons)
            moved = _moved_weights(comparisons, columns.weights(name), strength)
            adapted[name] |= {feature: weight for feature, weight in zip(COEFFICIENTS, moved.tolist(), strict=True) if weight}
    return adapted, learnt


def _comparisons(marked: Marked, columns: ModelColumns, name: str) -> Iterator[Comparison]:
    """The shown items that column `name` scores: evidence and products, shape (items, coefficients), and which of them
    are better."""
    table = matrix([item.evidence for item in marked.shown])
    here = columns.of(table) == columns.names.index(name)
    marks = np.array([item.mark for item in marked.shown], dtype=str)[here]
    table = design(np.nan_to_num(table[here]))
    helpful, harmful = marks == "helpful", marks == "harmful"
    for rows, better in ((np.ones(len(marks), np.bool_), helpful), (~helpful, ~harmful)):
        chosen = better[rows]
        if chosen.any() and not chosen.all():
            yield table[rows], chosen


def _moved_weights(comparisons: Sequence[Comparison], weights: Floats, strength: float) -> Floats:
    rows = np.concatenate([table for table, _ in comparisons])
    counts = np.array([len(better) for _, better in comparisons], np.intp)
    where = np.flatnonzero((rows.std(axis=0) > 1e-9) & ~np.isin(COEFFICIENTS, JUDGED))
    spread = np.maximum(rows.std(axis=0), _MIN_SPREAD)
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
