"""Soft match: how well a text's words match the query's words or words of similar meaning.

The score is Σ over the query's words of (idf share · best cosine with a word of the text), with cosine 1 for an equal stem; it
lies in [0, 1]. Of the words it needs only the hashes of their stems, so that no text is read for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from germane.ports.word_vectors import WordVectors
from germane.search.bm25 import Terms
from germane.search.row_terms import RowTerms

__all__ = ["soft"]


def soft(terms: Terms, texts: RowTerms, held: NDArray[np.bool_], vectors: WordVectors) -> NDArray[np.float32]:
    """Returns the score of each row of `texts`. `held`, shape (rows, terms), says which of them hold which term. NaN for every
    row where no word of the query has a vector, as it is in scripts that the vectors don't cover: then nothing is known but
    equal stems, which BM25 counts."""
    scores = np.zeros(len(texts.lengths), np.float32)
    if not terms:
        scores[:] = np.nan
    if not terms or not len(texts.hashes):
        return scores
    cosines = vectors.cosines(texts.hashes, [term.word for term in terms])
    unknown = np.isnan(cosines[0])
    if unknown.all():
        scores[:] = np.nan
        return scores
    if unknown.any():
        cosines[:, unknown] = 0.0
    rows = texts.lengths.nonzero()[0]
    share = np.array([term.share for term in terms], np.float32)
    best = np.maximum.reduceat(cosines, texts.starts[rows], axis=0)
    best[held[rows]] = 1.0
    scores[rows] = np.minimum(np.maximum(best, 0.0, out=best), 1.0, out=best) @ share
    return scores
