"""Products: the features whose product with the query's length has a coefficient of its own in the relevance model.

The same strength of a match says something else for a query of four words than for one of twelve. A coefficient's name is the
feature's, or for a product both names with a colon between, as statistics programs write an interaction: `own:terms`. Squares
and products of features with one another would fit better and aren't in the model: they bend the probability of near-perfect
matches down, of which the data have few.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from germane.types.evidence import FEATURES

__all__ = ["COEFFICIENTS", "design"]

_BY_TERMS = ("own", "window", "session", "before", "after", "cos_window", "soft", "phrase")
_PRODUCTS: Final = tuple((name, "terms") for name in _BY_TERMS)
_ONE, _OTHER = ([FEATURES.index(pair[side]) for pair in _PRODUCTS] for side in (0, 1))

COEFFICIENTS: tuple[str, ...] = (*FEATURES, *(f"{one}:{other}" for one, other in _PRODUCTS))


def design(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns features and products, shape (n, len(COEFFICIENTS)), of a table of features without gaps, shape
    (n, len(FEATURES))."""
    return np.concatenate((table, table[:, _ONE] * table[:, _OTHER]), axis=1)
