"""Columns: arrays that grow by rows and can be read by other threads while they grow, and the inverted index.

A reader reads `rows` once and ignores everything beyond it. Growing replaces an array by a larger copy, so an array that a
reader holds never moves. New rows are written first and published when all their values are known. Readers need no lock; only
one thread may write at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

_SPARE = 16
"""Rows that a small array has to spare at most; a large one has an eighth of its rows."""


class Columns:
    """Named columns of equal length. `shapes` gives each column's dtype and the shape of one entry (`()` for a scalar)."""

    def __init__(self, shapes: Mapping[str, tuple[DTypeLike, tuple[int, ...]]]) -> None:
        self.rows = 0
        self._arrays: dict[str, NDArray[Any]] = {name: np.empty((0, *entry), dtype) for name, (dtype, entry) in shapes.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Returns the whole array with its spare capacity: the caller slices it by the `rows` it has read."""
        return self._arrays[name]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def append(self, count: int, values: dict[str, NDArray[Any]]) -> None:
        """Adds `count` rows and publishes them. `values` must hold every column."""
        self.write(count, values)
        self.publish(count)

    def write(self, count: int, values: dict[str, NDArray[Any]]) -> None:
        """Adds `count` rows that readers don't see before `publish`. `values` must hold every column."""
        needed = self.rows + count
        for name, array in self._arrays.items():
            if len(array) < needed:
                grown = np.zeros((needed + max(needed // 8, min(needed, _SPARE)), *array.shape[1:]), array.dtype)
                grown[: self.rows] = array[: self.rows]
                self._arrays[name] = array = grown
            array[self.rows : needed] = values[name]

    def publish(self, count: int) -> None:
        """Makes the `count` rows written last visible to readers."""
        self.rows += count


# The inverted index: from a term to the rows that hold it, and its frequency in each; rows are added and dropped. The
# index consists of segments. A segment is an inverted index in three arrays: the distinct terms (sorted), the offset at
# which each term's rows begin, and the rows with their term frequencies. New rows go into a new small segment; whenever
# the last segment has reached a quarter of the size of the one before, the two are merged. So there are O(log n)
# segments, and each row is sorted O(log n) times.


Rows = NDArray[np.int32]


class _Segment(NamedTuple):
    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    """One entry more than `terms`: the rows of term i are rows[starts[i]:starts[i + 1]]."""
    rows: Rows
    frequencies: NDArray[np.float32]


class Postings:
    """One writer at a time; readers need no lock, as segments never change and the tuple of them is replaced at once."""

    def __init__(self) -> None:
        self._segments: tuple[_Segment, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for segment in self._segments for array in segment)

    def add(self, rows: Rows, terms: NDArray[np.uint32]) -> None:
        """Adds one entry for each occurrence: `terms[i]` occurs in row `rows[i]`. The rows must be new and ascending."""
        if not len(terms):
            return
        segments = [*self._segments, _segment(_codes(terms, rows))]
        while len(segments) > 1 and len(segments[-1].rows) * 4 >= len(segments[-2].rows):
            last, before = segments.pop(), segments.pop()
            segments.append(_merge(before, last))
        self._segments = tuple(segments)

    def drop(self, rows: NDArray[np.integer]) -> None:
        """Removes all entries of these rows, and the terms that no other row holds."""
        left = (_without(segment, np.flatnonzero(np.isin(segment.rows, rows))) for segment in self._segments)
        self._segments = tuple(segment for segment in left if len(segment.rows))

    def find(self, term: int) -> tuple[Rows, NDArray[np.float32]]:
        """Returns the rows that hold the term (distinct, ascending) and the term's frequency in each."""
        found, code = [], np.uint32(term)
        for segment in self._segments:
            index = int(segment.terms.searchsorted(code))
            if index < len(segment.terms) and segment.terms[index] == code:
                span = slice(segment.starts[index], segment.starts[index + 1])
                found.append((segment.rows[span], segment.frequencies[span]))
        if len(found) == 1:
            return found[0]
        if not found:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        return np.concatenate([rows for rows, _ in found]), np.concatenate([counts for _, counts in found])


def _codes(terms: NDArray[np.uint32], rows: Rows) -> NDArray[np.uint64]:
    """Packs term and row into one number each, so that one sort orders by both: many times faster than sorting by two keys."""
    return terms.astype(np.uint64) << np.uint64(32) | rows.astype(np.uint64)


def _segment(codes: NDArray[np.uint64], counts: NDArray[np.float32] | None = None) -> _Segment:
    """Builds a segment from one code for each occurrence or, with `counts`, from distinct codes; in any order."""
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


def _without(segment: _Segment, entries: NDArray[np.intp]) -> _Segment:
    """The segment without the entries at these indexes, which must ascend, and without the terms that have none left."""
    if not len(entries):
        return segment
    starts = segment.starts - entries.searchsorted(segment.starts)
    there = np.diff(starts) > 0
    rows, frequencies = np.delete(segment.rows, entries), np.delete(segment.frequencies, entries)
    return _Segment(segment.terms[there], np.append(starts[:-1][there], starts[-1]), rows, frequencies)


def _merge(left: _Segment, right: _Segment) -> _Segment:
    codes = [_codes(np.repeat(part.terms, np.diff(part.starts)), part.rows) for part in (left, right)]
    return _segment(np.concatenate(codes), np.concatenate([left.frequencies, right.frequencies]))
