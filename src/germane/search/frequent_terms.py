"""FrequentTerms: cached BM25 contributions of the commonest terms, kept from search to search.

A term in more than one of 16 rows takes longer to score than all rarer terms together, and any language has some dozens of
them. The term's saturated frequency in each row, window and block depends on no query, so it is computed once and stored in
eight bits a row (a step is 0.009, where one occurrence contributes about 1). When rows are appended to their sessions, entries
are updated for the new rows and their neighbours, as the snapshot is.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from germane.search.snapshot import Snapshot
from germane.types.lru_cache import LruCache

__all__ = ["FrequentTerms", "TermRows"]

_STEPS = 255
_MAX_TERMS = 24
"""Terms kept in the cache; each takes two bytes a row."""
_CHUNK = 1 << 16

Floats = NDArray[np.float32]
TermRows = tuple[NDArray[np.int32], Floats]
"""The rows that hold a term, ascending, and the term's frequency in each."""


class FrequentTerms:
    """LRU cache of the frequent terms of one partition, for as long as rows are only appended to it. Thread-safe."""

    def __init__(self) -> None:
        self._terms: LruCache[tuple[int, ...], _Contribution] = LruCache(_MAX_TERMS)
        self._lock = Lock()

    @classmethod
    def of(cls, snapshot: Snapshot) -> FrequentTerms:
        """Returns the cache that belongs to the snapshot's rows; the first call makes it."""
        cache: FrequentTerms = snapshot.extras.setdefault("frequent", cls())
        return cache

    def add(
        self, own: Floats, window: Floats, weight: float, hashes: tuple[int, ...], held: TermRows, snapshot: Snapshot
    ) -> Floats:
        """Adds `weight` · f / (f + norm) of the term to `own` for each row and to `window` for each window. Returns the term's
        frequency in each block. `hashes` identify the term; `held` are the rows that hold it."""
        kept = self._current(hashes, held, snapshot)
        step = np.float32(weight / _STEPS)
        for total, steps in ((own, kept.own), (window, kept.window)):
            for start in range(0, snapshot.rows, _CHUNK):
                end = min(start + _CHUNK, snapshot.rows)
                total[start:end] += np.multiply(steps[start:end], step, dtype=np.float32, casting="unsafe")
        return kept.blocks[: len(snapshot.blocks)]

    def _current(self, hashes: tuple[int, ...], held: TermRows, snapshot: Snapshot) -> _Contribution:
        with self._lock:
            kept = self._terms.use(hashes)
            if kept is None or kept.norms_version != snapshot.norms_version or len(kept.own) < snapshot.rows:
                kept = _Contribution(snapshot.rows + snapshot.rows // 8, snapshot.norms_version)
                self._terms.put(hashes, kept)
            if kept.rows < snapshot.rows:
                kept.extend(held, snapshot)
            return kept


class _Contribution:
    """One term's contribution in the first `rows` rows, with spare capacity; computed with the norms of `norms_version`."""

    __slots__ = ("blocks", "norms_version", "own", "rows", "window")

    def __init__(self, capacity: int, norms_version: int) -> None:
        self.rows, self.norms_version = 0, norms_version
        self.own, self.window = np.zeros(capacity, np.uint8), np.zeros(capacity, np.uint8)
        self.blocks = np.zeros(0, np.float32)

    def extend(self, held: TermRows, snapshot: Snapshot) -> None:
        """Covers all rows of the snapshot. Of the rows covered before, only the neighbours of new rows change."""
        begun = self.rows
        early = snapshot.before[begun:]
        changed = np.concatenate((early[early < begun], np.arange(begun, snapshot.rows, dtype=np.int32)))
        if begun:
            occurs = _counted(changed, held)
            around = occurs + _counted(snapshot.before[changed], held) + _counted(snapshot.after[changed], held)
            new = occurs[len(changed) - (snapshot.rows - begun) :]
        else:
            new = occurs = np.zeros(snapshot.rows, np.float32)
            occurs[held[0]] = held[1]
            around = occurs + snapshot.neighbour_sum(occurs)
        self.own[changed] = _steps(occurs, snapshot.own[changed])
        self.window[changed] = _steps(around, snapshot.window[changed])
        blocks = np.bincount(snapshot.block[begun:], new, len(snapshot.blocks)).astype(np.float32)
        blocks[: len(self.blocks)] += self.blocks
        self.blocks, self.rows = blocks, snapshot.rows


def _counted(rows: NDArray[np.int32], held: TermRows) -> Floats:
    """Returns the term's frequency in each of `rows`; 0 for a link that leads to no row."""
    where, counts = held
    index = np.minimum(np.searchsorted(where, rows), len(where) - 1)
    return np.where(where[index] == rows, counts[index], np.float32(0))


def _steps(counts: Floats, norm: Floats) -> NDArray[np.uint8]:
    return np.rint(counts / (counts + norm) * np.float32(_STEPS)).astype(np.uint8)
