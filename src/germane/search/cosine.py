"""Cosine: exact cosine similarity of every unit and its window with the query's vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition
from germane.search.quantised import dequantise, dots
from germane.search.snapshot import Snapshot
from germane.types.query import Vector

__all__ = ["Cosines", "cosines", "windows"]

_CHUNK = 1 << 16

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """Both of shape (rows,). `own` is q · v, the unit's cosine; `sums` is q · (v + ½ v_before + ½ v_after), the dot product of
    the query with the window's vector, which `windows` turns into a cosine."""

    own: Floats
    sums: Floats


def cosines(partition: Partition, vector: Vector, snapshot: Snapshot, stop: Callable[[], bool]) -> Cosines:
    """Scans the vectors once; a window's dot product is the weighted sum over its three units. Calls `stop` between chunks of
    65,536 rows; when it returns true, the remaining rows stay at 0."""
    vectors, scales = partition.columns["vector"], partition.columns["scale"]
    own = np.zeros(snapshot.rows, np.float32)
    for start in range(0, snapshot.rows, _CHUNK):
        if stop():
            break
        end = min(start + _CHUNK, snapshot.rows)
        own[start:end] = dots(vectors[start:end], scales[start:end], vector)
    return Cosines(own=own, sums=own + np.float32(0.5) * snapshot.neighbour_sum(own))


def windows(partition: Partition, near: Cosines, snapshot: Snapshot, rows: NDArray[np.intp]) -> Floats:
    """Returns the cosines of the windows of `rows`, shape (len(rows),). Window lengths are computed for these few rows only:
    stored for all rows, each would have to be updated whenever a neighbour changes."""
    window = _vectors(partition, rows)
    for link in (snapshot.before[rows], snapshot.after[rows]):
        linked = link < snapshot.rows
        window[linked] += np.float32(0.5) * _vectors(partition, link[linked])
    length = np.sqrt(np.einsum("ij,ij->i", window, window))
    cosine: Floats = near.sums[rows] / np.maximum(length, np.float32(1e-6))
    return cosine


def _vectors(partition: Partition, rows: NDArray[np.integer]) -> Floats:
    return dequantise(partition.columns["vector"][rows], partition.columns["scale"][rows])
