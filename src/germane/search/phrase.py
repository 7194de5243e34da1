"""Phrase: neighbouring words of the query that are neighbours in a unit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from germane.search.bm25 import Terms
from germane.search.partition import Partition

__all__ = ["phrase"]

_NEAR = 4
_READ = 16_384
"""Words of a unit that are looked at: beyond them, in texts of some hundred thousand characters, neighbours go unnoticed."""


def phrase(partition: Partition, terms: Terms, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """For each row, Σ over pairs of neighbouring terms of half their idf share when adjacent in this order, a quarter when at
    most four words apart; [0, 1]. `terms` in the order of the query."""
    found = np.zeros(len(rows), np.float32)
    if len(terms) < 2 or not len(rows):
        return found
    lengths = np.minimum(partition.columns["length"][rows].astype(np.int64), _READ)
    begins = partition.columns["offset"][rows]
    owner = np.repeat(np.arange(len(rows)), lengths)
    ends = np.cumsum(lengths)
    flat = np.arange(len(owner)) - np.repeat(ends - lengths, lengths) + np.repeat(begins, lengths)
    words = partition.terms["term"][flat]
    places = [np.flatnonzero(_among(words, term.hashes)) for term in terms]
    for (one, at), (two, then) in pairwise(zip(terms, places, strict=True)):
        if not (len(at) and len(then)):
            continue
        gap = np.append(then, len(words) + _NEAR)[np.searchsorted(then, at, "right")] - at
        at, gap = at[gap <= _NEAR], gap[gap <= _NEAR]
        at, gap = at[together := owner[at] == owner[at + gap]], gap[together]
        best = np.zeros(len(rows), np.float32)
        best[owner[at]] = 0.25
        best[owner[at[gap == 1]]] = 0.5
        found += best * np.float32(one.share + two.share)
    return np.minimum(found, 1.0)


def _among(words: NDArray[np.uint32], hashes: Sequence[int]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = words == np.uint32(hashes[0])
    for other in hashes[1:]:
        found |= words == np.uint32(other)
    return found
