"""Whereabouts: where in a long text the query's words stand together, read off its terms, without the text."""

from __future__ import annotations

import numpy as np

from germane.search.bm25 import Terms
from germane.search.partition import Partition

__all__ = ["whereabouts"]

_PARTS = 256
"""Parts of a text that are told apart."""


def whereabouts(partition: Partition, row: int, terms: Terms, window: float) -> float:
    """The middle of the stretch that holds most of the query's words, weighted by their idf share, as a fraction of the unit's
    terms in [0, 1]; of equals the first. `window` is the length of the stretch, likewise. 0 where none of them occurs."""
    length = int(partition.columns["length"][row])
    begin = int(partition.columns["offset"][row])
    words = partition.terms["term"][begin : begin + length]
    span = max(1, round(window * _PARTS))
    worth = np.zeros(_PARTS)
    for term in terms:
        there = np.zeros(_PARTS + span, np.bool_)
        for stem in term.hashes:
            there[np.flatnonzero(words == np.uint32(stem)) * _PARTS // length] = True
        within = np.cumsum(np.concatenate(([0], there)))
        worth += term.share * (within[span : span + _PARTS] > within[:_PARTS])
    best = int(np.argmax(worth))
    if not worth[best] > 0:
        return 0.0
    alike = best + int(np.argmin(np.append(worth[best:] == worth[best], False)))  # each of these holds the same words
    return min(1.0, ((best + alike - 1) / 2 + span / 2) / _PARTS)
