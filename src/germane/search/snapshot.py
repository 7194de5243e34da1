"""Snapshot: how a partition's rows hang together, as one search sees it; worked out once until the partition changes.

Links and blocks are copies: a late message re-links others in place, also while a search runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition

__all__ = ["K1", "B", "Snapshot", "snapshot"]

K1, B = 1.2, 0.75

Floats = NDArray[np.float32]


class Snapshot(NamedTuple):
    """The norms are k1 · (1 − b + b · length / mean length), one a row for units and windows, one a block for blocks. In the
    links `rows` stands for no neighbour: one past the last row."""

    rows: int
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    block: NDArray[np.int32]
    own: Floats
    window: Floats
    blocks: Floats
    joined: Floats
    """1 where a row and the next are neighbours, as most are: one shorter than the rows."""
    parted: tuple[NDArray[np.intp], NDArray[np.int32]]
    """The other links: rows, and a neighbour of each."""

    def around(self, values: Floats) -> Floats:
        """For each row the sum of its neighbours' values. Most neighbours lie side by side, where adding is ten times as
        fast as looking them up."""
        total = np.zeros(self.rows, np.float32)
        np.multiply(values[:-1], self.joined, out=total[1:])
        total[:-1] += values[1:] * self.joined
        rows, neighbours = self.parted
        if len(rows):
            np.add.at(total, rows, values[neighbours])
        return total


def snapshot(partition: Partition, rows: int) -> Snapshot:
    """Of the first `rows` rows; what was dropped has no length and counts in no mean."""
    version = partition.version
    if partition.kept is not None and partition.kept[0] == (version, rows):
        known: Snapshot = partition.kept[1]
        return known
    columns = partition.columns
    alive = columns["alive"][:rows]
    before, after = _link(columns["before"][:rows], rows), _link(columns["after"][:rows], rows)
    block = columns["block"][:rows].copy()
    length = np.where(alive, columns["length"][:rows], np.float32(0))
    joined, parted = _joints(before, after, rows)
    blocks = np.bincount(block, length).astype(np.float32)
    made = Snapshot(
        rows=rows,
        before=before,
        after=after,
        block=block,
        own=_norm(length, alive),
        window=length,
        blocks=_norm(blocks, blocks > 0),
        joined=joined,
        parted=parted,
    )
    made = made._replace(window=_norm(length + made.around(length), alive))
    partition.kept = ((version, rows), made)
    return made


def _link(rows_of: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
    link = rows_of.copy()
    link[(link < 0) | (link >= rows)] = rows
    return link


def _joints(
    before: NDArray[np.int32], after: NDArray[np.int32], rows: int
) -> tuple[Floats, tuple[NDArray[np.intp], NDArray[np.int32]]]:
    every = np.arange(rows, dtype=np.int32)
    joined = (before[1:] == every[:-1]) & (after[:-1] == every[1:])
    ahead = np.flatnonzero((before < rows) & ~np.concatenate(([False], joined)))
    behind = np.flatnonzero((after < rows) & ~np.concatenate((joined, [False])))
    parted = np.concatenate((ahead, behind)), np.concatenate((before[ahead], after[behind]))
    return joined.astype(np.float32), parted


def _norm(length: Floats, counted: NDArray[np.bool_]) -> Floats:
    many = np.count_nonzero(counted)
    mean = float(length.sum(where=counted, dtype=np.float64)) / many if many else 1.0
    return (K1 * (1 - B + B * length / max(mean, 1e-6))).astype(np.float32)
