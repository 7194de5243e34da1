"""Whereabouts: where in a long text the query's words stand closest, read off its terms, without the text."""

from __future__ import annotations

import numpy as np

from germane.search.bm25 import Terms
from germane.search.partition import Partition

__all__ = ["whereabouts"]


def whereabouts(partition: Partition, row: int, terms: Terms, window: float) -> float:
    """The middle of the stretch that holds most of the query's words, weighted by their idf share, as a fraction of the unit's
    terms in [0, 1]; `window` is the length of the stretch, likewise. 0 where none of them occurs."""
    length = int(partition.columns["length"][row])
    begin = int(partition.columns["offset"][row])
    words = partition.terms["term"][begin : begin + length]
    found = [(np.flatnonzero(np.isin(words, np.array(term.hashes, np.uint32))), term.share) for term in terms]
    places = np.concatenate([at for at, _ in found]) if found else np.empty(0, np.intp)
    if not len(places):
        return 0.0
    starts = np.unique(places)[:_STARTS]
    ends = starts + max(1.0, window * length)
    worth = np.zeros(len(starts))
    for at, share in found:
        worth += share * (np.searchsorted(at, ends) > np.searchsorted(at, starts))
    best = int(np.argmax(worth))
    inside = places[(places >= starts[best]) & (places < ends[best])]
    return float((inside.min() + inside.max() + 1) / 2 / length)


_STARTS = 4096
"""Stretches that are compared, at most."""
