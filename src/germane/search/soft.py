"""Soft: how well a text answers the words of a query, words of nearly the same meaning included.

Σ over the query's words of its idf share · the best cosine of a word of the text, 1 for an equal stem; [0, 1]. It reads the
texts themselves, so it is for the few that have been found: an index knows stems, not words.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from germane.ports.words import WordVectors
from germane.search.bm25 import Terms
from germane.text.analyse import worded

__all__ = ["soft"]

_READ, _WORDS = 2_000, 96
"""Of a text only so many characters, and so many words, are looked at."""
_NOTHING = [("", 0)]


def soft(terms: Terms, texts: Sequence[str], vectors: WordVectors) -> NDArray[np.float64]:
    """One number a text, in their order."""
    share = np.array([term.share for term in terms])
    if not terms or not texts:
        return np.zeros(len(texts))
    read = [worded(text[:_READ])[:_WORDS] or _NOTHING for text in texts]
    starts = list(accumulate(map(len, read[:-1]), initial=0))
    words, stems = zip(*chain.from_iterable(read), strict=True)
    near = np.clip(vectors.likeness(words, [term.word for term in terms]), 0.0, 1.0)
    found = np.array(stems, np.int64)
    for place, term in enumerate(terms):
        for stem in term.hashes:
            near[found == stem, place] = 1.0
    answered: NDArray[np.float64] = np.maximum.reduceat(near, starts, axis=0) @ share
    return answered
