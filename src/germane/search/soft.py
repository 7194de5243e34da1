"""Soft: how well a text answers the words of a query, words of nearly the same meaning included.

Σ over the query's words of its idf share · the best cosine of a word of the text, 1 for an equal stem; [0, 1]. It reads the
texts themselves, so it is for the few that have been found: an index knows stems, not words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from germane.ports.words import WordVectors
from germane.search.bm25 import Terms

__all__ = ["soft"]


def soft(terms: Terms, texts: Sequence[str], vectors: WordVectors) -> NDArray[np.float64]:
    """One number a text, in their order."""
    if not terms or not texts:
        return np.zeros(len(texts))
    near, stems, starts = vectors.kindred(texts, [term.word for term in terms])
    near = np.clip(near, 0.0, 1.0)
    for place, term in enumerate(terms):
        for stem in term.hashes:
            near[stems == stem, place] = 1.0
    share = np.array([term.share for term in terms])
    answered: NDArray[np.float64] = np.maximum.reduceat(near, starts, axis=0) @ share
    return answered
