"""Phrase: neighbouring words of the query that are neighbours in a unit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from germane.search.bm25 import Terms
from germane.search.partition import Partition

__all__ = ["phrase"]

_NEAR = 4


def phrase(partition: Partition, terms: Terms, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """For each row, Σ over pairs of neighbouring terms of half their idf share when adjacent in this order, a quarter when at
    most four words apart; [0, 1]. `terms` in the order of the query."""
    found = np.zeros(len(rows), np.float32)
    if len(terms) < 2 or not len(rows):
        return found
    lengths = partition.columns["length"][rows].astype(np.int64)
    begins = partition.columns["offset"][rows]
    owner = np.repeat(np.arange(len(rows)), lengths)
    ends = np.cumsum(lengths)
    flat = np.arange(len(owner)) - np.repeat(ends - lengths, lengths) + np.repeat(begins, lengths)
    words = partition.terms["term"][flat]
    for one, two in pairwise(terms):
        at = np.flatnonzero(np.isin(words, np.array(one.hashes, np.uint32)))
        if not len(at):
            continue
        second = np.array(two.hashes, np.uint32)
        best = np.zeros(len(rows), np.float32)
        for distance in range(1, _NEAR + 1):
            follow = at + distance
            inside = follow < len(words)
            here, there = at[inside], follow[inside]
            hit = (owner[here] == owner[there]) & np.isin(words[there], second)
            where = owner[here[hit]]
            best[where] = np.maximum(best[where], 0.5 if distance == 1 else 0.25)
        found += best * np.float32(one.share + two.share)
    return np.minimum(found, 1.0)
