"""Soft match: how well a text's words match the query's words or words of similar meaning.

The score is Σ over the query's words of (idf share · best cosine with a word of the text), with cosine 1 for an equal stem; it
lies in [0, 1]. It needs the texts themselves, as the index holds stems and not words, so it is computed for search results
only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from germane.ports.word_vectors import WordVectors
from germane.search.bm25 import Terms

__all__ = ["soft"]


def soft(terms: Terms, texts: Sequence[str], vectors: WordVectors) -> NDArray[np.float64]:
    """Returns shape (len(texts),), in the order of `texts`; zeros without terms."""
    if not terms or not texts:
        return np.zeros(len(texts))
    cosines, stems, starts = vectors.similar(texts, [term.word for term in terms])
    cosines = np.clip(cosines, 0.0, 1.0)
    for column, term in enumerate(terms):
        for stem in term.hashes:
            cosines[stems == stem, column] = 1.0
    share = np.array([term.share for term in terms])
    scores: NDArray[np.float64] = np.maximum.reduceat(cosines, starts, axis=0) @ share
    return scores
