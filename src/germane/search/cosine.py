"""Cosines of units and of their windows with the query, exact, over every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition
from germane.search.quantised import dots, restored
from germane.search.snapshot import Snapshot
from germane.types.query import Vector

__all__ = ["Cosines", "cosines", "windows"]

_CHUNK = 1 << 16

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """`sums` are q · (v + ½ v_before + ½ v_after): a window's cosine but for the length of its vector, see `windows`."""

    own: Floats
    sums: Floats


def cosines(partition: Partition, vector: Vector, seen: Snapshot, stop: Callable[[], bool]) -> Cosines:
    """Of every row, with one scan: a window's dot product follows from its three units'. Between chunks it asks whether to
    stop."""
    vectors, scales = partition.columns["vector"], partition.columns["scale"]
    own = np.zeros(seen.rows, np.float32)
    for start in range(0, seen.rows, _CHUNK):
        if stop():
            break
        end = min(start + _CHUNK, seen.rows)
        own[start:end] = dots(vectors[start:end], scales[start:end], vector)
    return Cosines(own=own, sums=own + np.float32(0.5) * seen.around(own))


def windows(partition: Partition, near: Cosines, seen: Snapshot, rows: NDArray[np.intp]) -> Floats:
    """The cosines of these rows' windows. Lengths are worked out for the few that are looked at closely: kept for all, they
    would have to follow every change of a neighbour."""
    window = _vectors(partition, rows)
    for link in (seen.before[rows], seen.after[rows]):
        there = link < seen.rows
        window[there] += np.float32(0.5) * _vectors(partition, link[there])
    length = np.sqrt(np.einsum("ij,ij->i", window, window))
    found: Floats = near.sums[rows] / np.maximum(length, np.float32(1e-6))
    return found


def _vectors(partition: Partition, rows: NDArray[np.integer]) -> Floats:
    return restored(partition.columns["vector"][rows], partition.columns["scale"][rows])
