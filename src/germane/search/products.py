"""Products: the pairs of features whose product has a coefficient of its own in the relevance model.

BM25 and cosines say more or less of one another and of the length of a text than a sum can express, and the same strength of a
match says something else for a query of three words than for one of twelve. A coefficient's name is the feature's, or for a
product both names with a colon between, as statistics programs write an interaction; `own:own` is a square.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Final

import numpy as np
from numpy.typing import NDArray

from germane.types.evidence import FEATURES

__all__ = ["COEFFICIENTS", "design"]

_BENT = ("own", "window", "cos_window", "soft", "length")
_BY_TERMS = ("own", "window", "session", "before", "after", "cos_window", "soft", "phrase")
_PRODUCTS: Final = (*combinations_with_replacement(_BENT, 2), *((name, "terms") for name in _BY_TERMS))
_ONE, _OTHER = ([FEATURES.index(pair[side]) for pair in _PRODUCTS] for side in (0, 1))

COEFFICIENTS: tuple[str, ...] = (*FEATURES, *(f"{one}:{other}" for one, other in _PRODUCTS))


def design(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns features and products, shape (n, len(COEFFICIENTS)), of a table of features without gaps, shape
    (n, len(FEATURES))."""
    return np.concatenate((table, table[:, _ONE] * table[:, _OTHER]), axis=1)
