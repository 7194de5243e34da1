"""Proximity: where the query's words stand close together in a unit's text, read from its term hashes in order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from germane.search.bm25 import Terms
from germane.search.row_terms import RowTerms

__all__ = ["phrase"]

_MAX_GAP = 4


def phrase(terms: Terms, texts: RowTerms) -> NDArray[np.float32]:
    """Returns one number a row, in [0, 1]: how well neighbouring words of the query are neighbours in the row's text.

    The score is Σ over pairs of neighbouring terms of half their idf shares where the two are adjacent in this order, or of a
    quarter where they are at most four words apart. `terms` must be in the order of the query.
    """
    words = texts.hashes
    scores = np.zeros(len(texts.lengths), np.float32)
    if len(terms) < 2 or not len(words):
        return scores
    positions = [np.flatnonzero(_among(words, term.hashes)) for term in terms]
    for (first, here), (second, there) in pairwise(zip(terms, positions, strict=True)):
        if not (len(here) and len(there)):
            continue
        gap = np.append(there, len(words) + _MAX_GAP)[np.searchsorted(there, here, "right")] - here
        here, gap = here[gap <= _MAX_GAP], gap[gap <= _MAX_GAP]
        owner = texts.owners(here)
        same_text = owner == texts.owners(here + gap)
        owner, gap = owner[same_text], gap[same_text]
        best = np.zeros(len(scores), np.float32)
        best[owner] = 0.25
        best[owner[gap == 1]] = 0.5
        scores += best * np.float32(first.share + second.share)
    return np.minimum(scores, 1.0)


def _among(words: NDArray[np.uint32], hashes: Sequence[int]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = words == np.uint32(hashes[0])
    for other in hashes[1:]:
        found |= words == np.uint32(other)
    return found
