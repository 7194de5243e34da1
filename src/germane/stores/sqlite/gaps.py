"""Gaps: finds the unallocated space of B-tree pages that isn't empty, in many pages at once.

The space lies between a page's cell pointers and its cell content (file format: sqlite.org/fileformat2.html, 1.6). Nothing
reads it, so it may be overwritten. SQLite leaves copies of rows there when it balances a B-tree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLASSED", "gaps"]

CLASSED = 1 << 25
"""Number of pages below which a page's first byte tells whether it is a B-tree page. Other pages begin with the number of
another page, whose highest byte is 0 or 1 in files of this size; no B-tree page begins with these."""
_HEADER = np.zeros(256, np.int64)
_HEADER[[2, 5, 10, 13]] = 12, 12, 8, 8
_HEADER.setflags(write=False)
"""Bytes of a B-tree page's header, by the page's first byte; 0 for pages of other kinds."""
_SCHEMA = 100
"""Bytes of the file's header, which precedes the header of page 1."""


def gaps(content: NDArray[np.uint8], size: int, first: int) -> Iterator[tuple[int, int, int]]:
    """Yields the gaps that aren't all zeros, as (page, from, to) with `to` excluded. `content`, of shape (pages · size,), holds
    whole pages of `size` bytes, beginning with page `first`. Pages count from 1, bytes from the beginning of their page."""
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
    if len(edges) and edges[-1] == len(content):  # reduceat's last segment ends at the end of the array anyway
        edges = edges[:-1]
    filled = np.bitwise_or.reduceat(content, edges)[0::2] if len(edges) else content[:0]
    for row in real[filled > 0].tolist():
        yield first + row, int(begins[row]), int(ends[row])


def _pair(pages: NDArray[np.uint8], rows: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the big-endian 16-bit number at byte `at` of each page."""
    return pages[rows, at].astype(np.int64) * 256 + pages[rows, at + 1]
