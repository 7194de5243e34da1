"""Frequent: what the commonest terms contribute to BM25, kept from search to search.

A term that is in every sixteenth row takes longer to count than all others together, and of such there are some dozens in any
language. How often one occurs in each row, window and block, as the formula sees it, depends on no query: it is worked out
once and kept in eight bits a row (of a step of 0.009, where one occurrence is worth about 1). What changes when rows come at
the end of their sessions is carried on, as the snapshot is.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from germane.search.snapshot import Snapshot

__all__ = ["Frequent"]

_STEPS = 255
_MOST = 24
"""Terms kept: two bytes a row each."""
_CHUNK = 1 << 16

Floats = NDArray[np.float32]
Held = tuple[NDArray[np.int32], Floats]
"""The rows that hold a term, ascending, and how often each does."""


class Frequent:
    """Of one partition, as long as rows are only added to it. Safe to use from any thread."""

    def __init__(self) -> None:
        self._terms: OrderedDict[tuple[int, ...], _Kept] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def of(cls, seen: Snapshot) -> Frequent:
        """The one that belongs to these rows."""
        found: Frequent = seen.beside.setdefault("frequent", cls())
        return found

    def add(self, own: Floats, window: Floats, weight: float, hashes: tuple[int, ...], held: Held, seen: Snapshot) -> Floats:
        """Add `weight` · f / (f + norm) of the term for each row and each window; answers how often each block holds it."""
        kept = self._current(hashes, held, seen)
        step = np.float32(weight / _STEPS)
        for total, steps in ((own, kept.own), (window, kept.window)):
            for start in range(0, seen.rows, _CHUNK):
                end = min(start + _CHUNK, seen.rows)
                total[start:end] += np.multiply(steps[start:end], step, dtype=np.float32, casting="unsafe")
        return kept.blocks[: len(seen.blocks)]

    def _current(self, hashes: tuple[int, ...], held: Held, seen: Snapshot) -> _Kept:
        with self._lock:
            kept = self._terms.get(hashes)
            if kept is None or kept.norms != seen.norms or len(kept.own) < seen.rows:
                kept = self._terms[hashes] = _Kept(seen.rows + seen.rows // 8, seen.norms)
            self._terms.move_to_end(hashes)
            if len(self._terms) > _MOST:
                self._terms.popitem(last=False)
            if kept.rows < seen.rows:
                kept.carry_on(held, seen)
            return kept


class _Kept:
    """One term in the first `rows` rows, with room for more; `norms` says with which norms it was worked out."""

    __slots__ = ("blocks", "norms", "own", "rows", "window")

    def __init__(self, room: int, norms: int) -> None:
        self.rows, self.norms = 0, norms
        self.own, self.window = np.zeros(room, np.uint8), np.zeros(room, np.uint8)
        self.blocks = np.zeros(0, np.float32)

    def carry_on(self, held: Held, seen: Snapshot) -> None:
        """To all rows of the snapshot; of those known already only the neighbours of new ones change."""
        begun = self.rows
        early = seen.before[begun:]
        changed = np.concatenate((early[early < begun], np.arange(begun, seen.rows, dtype=np.int32)))
        if begun:
            occurs = _counted(changed, held)
            around = occurs + _counted(seen.before[changed], held) + _counted(seen.after[changed], held)
            new = occurs[len(changed) - (seen.rows - begun) :]
        else:
            new = occurs = np.zeros(seen.rows, np.float32)
            occurs[held[0]] = held[1]
            around = occurs + seen.around(occurs)
        self.own[changed] = _steps(occurs, seen.own[changed])
        self.window[changed] = _steps(around, seen.window[changed])
        blocks = np.bincount(seen.block[begun:], new, len(seen.blocks)).astype(np.float32)
        blocks[: len(self.blocks)] += self.blocks
        self.blocks, self.rows = blocks, seen.rows


def _counted(rows: NDArray[np.int32], held: Held) -> Floats:
    """How often the term occurs in each of these; not at all in what is no row."""
    where, counts = held
    at = np.minimum(np.searchsorted(where, rows), len(where) - 1)
    return np.where(where[at] == rows, counts[at], np.float32(0))


def _steps(counts: Floats, norm: Floats) -> NDArray[np.uint8]:
    return np.rint(counts / (counts + norm) * np.float32(_STEPS)).astype(np.uint8)
