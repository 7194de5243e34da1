"""Postings: which rows hold a term, and how often. Append-only, in segments that are merged as they grow.

A segment is the classic inverted index in three arrays: distinct terms (sorted), where each one's rows begin, the rows with
their term frequencies. New rows go into a small segment of their own; whenever the last segment has grown to a quarter of the
one before, the two become one, so there are O(log n) segments and each row is re-sorted O(log n) times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Postings"]

Rows = NDArray[np.int32]


class _Segment(NamedTuple):
    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    """One more than terms: the rows of term i are rows[starts[i]:starts[i + 1]]."""
    rows: Rows
    frequencies: NDArray[np.float32]


class Postings:
    def __init__(self) -> None:
        self._segments: tuple[_Segment, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for segment in self._segments for array in segment)

    def add(self, rows: Rows, terms: NDArray[np.uint32]) -> None:
        """One entry an occurrence: `terms[i]` occurs in row `rows[i]`; rows are new and come in ascending order."""
        if not len(terms):
            return
        segments = [*self._segments, _segment(_codes(terms, rows))]
        while len(segments) > 1 and len(segments[-1].rows) * 4 >= len(segments[-2].rows):
            last, before = segments.pop(), segments.pop()
            segments.append(_merge(before, last))
        self._segments = tuple(segments)

    def find(self, term: int) -> tuple[Rows, NDArray[np.float32]]:
        """Rows that hold the term (distinct, ascending) and how often each does."""
        found = []
        for segment in self._segments:
            at = int(np.searchsorted(segment.terms, np.uint32(term)))
            if at < len(segment.terms) and segment.terms[at] == term:
                span = slice(segment.starts[at], segment.starts[at + 1])
                found.append((segment.rows[span], segment.frequencies[span]))
        if len(found) == 1:
            return found[0]
        if not found:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        return np.concatenate([rows for rows, _ in found]), np.concatenate([counts for _, counts in found])


def _codes(terms: NDArray[np.uint32], rows: Rows) -> NDArray[np.uint64]:
    """Term and row in one number, so that sorting numbers sorts both: many times as fast as sorting by two keys."""
    return terms.astype(np.uint64) << np.uint64(32) | rows.astype(np.uint64)


def _segment(codes: NDArray[np.uint64], counts: NDArray[np.float32] | None = None) -> _Segment:
    """From one code an occurrence, or distinct codes with their counts, in any order."""
    if counts is None:
        codes = np.sort(codes)
        first = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
        pairs, frequencies = codes[first], np.diff(first, append=len(codes)).astype(np.float32)
    else:
        order = np.argsort(codes, kind="stable")
        pairs, frequencies = codes[order], counts[order]
    by_term = (pairs >> np.uint64(32)).astype(np.uint32)
    starts = np.flatnonzero(np.concatenate(([True], by_term[1:] != by_term[:-1])))
    return _Segment(
        terms=by_term[starts],
        starts=np.append(starts, len(pairs)),
        rows=(pairs & np.uint64(0xFFFFFFFF)).astype(np.int32),
        frequencies=frequencies,
    )


def _merge(one: _Segment, two: _Segment) -> _Segment:
    parts = [_codes(np.repeat(part.terms, np.diff(part.starts)), part.rows) for part in (one, two)]
    return _segment(np.concatenate(parts), np.concatenate([one.frequencies, two.frequencies]))
