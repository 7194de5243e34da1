"""Gaps: the unallocated space of B-tree pages, found in many pages at once.

It lies between a page's cell pointers and its cell content (file format: sqlite.org/fileformat2.html, 1.6). Nothing reads it,
so whatever stands in it may be overwritten; SQLite itself leaves copies of rows there when it balances a B-tree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLASSED", "gaps"]

CLASSED = 1 << 25
"""Pages of a file below which the first byte of a page tells whether it is a B-tree page: any other page begins with the number
of another page, whose highest byte is 0 or 1 there."""
_HEADER = np.zeros(256, np.int64)
_HEADER[[2, 5, 10, 13]] = 12, 12, 8, 8
_HEADER.setflags(write=False)
"""Bytes of a B-tree page's header, by its type; 0 for what is none."""
_SCHEMA = 100
"""Bytes of the file's own header, before that of page 1."""


def gaps(content: NDArray[np.uint8], size: int, first: int) -> Iterator[tuple[int, int, int]]:
    """Where something stands in a gap, as (page, from, to) with `to` excluded. `content` holds whole pages of `size` bytes, the
    first of them is page `first`; pages count from 1, bytes from the beginning of their page."""
    pages = content.reshape(-1, size)
    at = np.zeros(len(pages), np.int64)
    if first == 1:
        at[0] = _SCHEMA
    rows = np.arange(len(pages))
    header = _HEADER[pages[rows, at]]
    begins = at + header + 2 * _pair(pages, rows, at + 3)
    ends = _pair(pages, rows, at + 5)
    ends[ends == 0] = 65536
    real = np.flatnonzero((header > 0) & (begins < ends) & (ends <= size))
    edges = np.empty(2 * len(real), np.int64)
    edges[0::2] = real * size + begins[real]
    edges[1::2] = real * size + ends[real]
    if len(edges) and edges[-1] == len(content):  # the last segment goes to the end by itself
        edges = edges[:-1]
    filled = np.bitwise_or.reduceat(content, edges)[0::2] if len(edges) else content[:0]
    for row in real[filled > 0].tolist():
        yield first + row, int(begins[row]), int(ends[row])


def _pair(pages: NDArray[np.uint8], rows: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """The two bytes at `at` of each page, as a number."""
    return pages[rows, at].astype(np.int64) * 256 + pages[rows, at + 1]
