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
    """`starts` and `lengths` have an entry for each row that was asked for: which of the hashes are its own."""

    hashes: NDArray[np.uint32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, partition: Partition, rows: NDArray[np.intp]) -> RowTerms:
        lengths = np.minimum(partition.columns["length"].take(rows).astype(np.int64), _MAX_TERMS)
        offsets, terms = partition.columns["offset"].take(rows), partition.terms["term"]
        bounds = zip(offsets.tolist(), (offsets + lengths).tolist(), strict=True)
        own = [terms[start:end] for start, end in bounds]
        return cls(np.concatenate(own) if own else terms[:0], lengths.cumsum() - lengths, lengths)

    def owners(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Returns which of the rows each hash belongs to, by its place among all."""
        return self.starts.searchsorted(places, "right") - 1
