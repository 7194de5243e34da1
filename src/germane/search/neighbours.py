"""Neighbours: how likely the units around a unit are relevant, a feature of the second pass of a search.

An answer stands in an exchange whose other messages fit the question too. A window's BM25 and vector know the words around a
unit; this feature knows all other evidence for them as well (who speaks, which day, which kindred words).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from germane.search.sigmoid import sigmoid

__all__ = ["NEIGHBOUR_STEPS", "links", "neighbours"]

Floats = NDArray[np.float64]

_DECAY = np.array([1.0, 0.7, 0.4, 0.2])
NEIGHBOUR_STEPS = len(_DECAY)
_FAINT = 1e-3
"""A sum of probabilities far below this counts next to nothing, so a unit that wasn't looked at may count as irrelevant."""


def neighbours(near: NDArray[np.intp], log_odds: Floats) -> Floats:
    """Returns the feature for n rows, shape (n,). `near`, shape (2, steps, n), has the indices of the units so many steps
    before and after each row, −1 where there is none. `log_odds` come from all other evidence."""
    likely = np.append(sigmoid(log_odds), 0.0)
    around: Floats = np.einsum("s,dsn->n", _DECAY, likely.take(near))
    return np.log1p(around / _FAINT)


def links(walked: NDArray[np.int32], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Returns the argument `near` for some rows of a partition, from what `Snapshot.walk` returns for them: units that aren't
    among `rows` are left out, so a unit that the caller may not see tells nothing."""
    order = rows.argsort()
    ordered = rows.take(order)
    near = walked[:, :NEIGHBOUR_STEPS].astype(np.intp)
    where = ordered.searchsorted(near)
    return np.where(ordered.take(where, mode="clip") == near, order.take(where, mode="clip"), -1)
