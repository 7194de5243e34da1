"""Row terms: the hashes of the stems of some rows' texts, one row after another, in the order of the texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition

__all__ = ["RowTerms"]

_MAX_TERMS = 16_384
"""Terms of a row that are looked at: those beyond them, in texts of some hundred thousand characters, go unnoticed."""


class RowTerms(NamedTuple):
    """`owner` is the place, among the rows asked for, of each hash's row; `lengths` has an entry for each row."""

    hashes: NDArray[np.uint32]
    owner: NDArray[np.intp]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, partition: Partition, rows: NDArray[np.intp]) -> RowTerms:
        lengths = np.minimum(partition.columns["length"].take(rows).astype(np.int64), _MAX_TERMS)
        owner = np.arange(len(rows)).repeat(lengths)
        before = lengths.cumsum() - lengths
        places = np.arange(len(owner)) + (partition.columns["offset"].take(rows) - before).take(owner)
        return cls(partition.terms["term"].take(places), owner, lengths)
