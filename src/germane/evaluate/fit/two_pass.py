"""TwoPass: the feature `neighbours` of kept candidates, from the probabilities that a model gives them in its first pass.

A search computes this feature by the model it uses, so that kept lists of candidates can't hold it: each model that a fit tries
gets its own. A search follows the links of the store; here a neighbour is what stands next in the same session.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.lists import Candidates
from germane.search.neighbours import NEIGHBOUR_STEPS, neighbours
from germane.search.relevance import Relevance
from germane.types.evidence import FEATURES

__all__ = ["NEIGHBOURS", "near", "rescored"]

NEIGHBOURS = FEATURES.index("neighbours")
_WIDE = np.int64(1) << 32


def near(one: Candidates) -> NDArray[np.intp]:
    """Indices of the candidates up to four messages before and after each, −1 where the list has none: the argument of
    `neighbours`, shape (2, steps, n)."""
    if not len(one):
        return np.empty((2, NEIGHBOUR_STEPS, 0), np.intp)
    place = one.session * _WIDE + one.position
    order = np.argsort(place, kind="stable")
    steps = np.arange(1, NEIGHBOUR_STEPS + 1)
    wanted = place + np.stack((-steps, steps))[:, :, None]
    found = np.minimum(np.searchsorted(place[order], wanted), len(one) - 1)
    there = (place[order][found] == wanted) & (one.session >= 0)
    return np.where(there, order[found], -1)


def rescored(one: Candidates, relevance: Relevance) -> Candidates:
    """The same candidates, with `neighbours` as a search with this model has it."""
    table = one.table.copy()
    table[:, NEIGHBOURS] = 0.0
    table[:, NEIGHBOURS] = neighbours(near(one), relevance.log_odds(table))
    return replace(one, table=table)
