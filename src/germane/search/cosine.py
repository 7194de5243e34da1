"""Cosine: exact cosine similarity of every unit and its window with the query's vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition
from germane.search.quantised import row_dots
from germane.search.snapshot import Snapshot

__all__ = ["Cosines", "cosines", "windows"]

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """Both of shape (rows,). `own` is q · v, the unit's cosine; `sums` is q · (v + ½ v_before + ½ v_after), the dot product of
    the query with the window's vector, which `windows` turns into a cosine."""

    own: Floats
    sums: Floats


def cosines(own: Floats, snapshot: Snapshot) -> Cosines:
    """`own` are the dot products of the snapshot's rows; a window's is the weighted sum over its three units."""
    return Cosines(own=own, sums=own + np.float32(0.5) * snapshot.neighbour_sum(own))


def windows(partition: Partition, near: Cosines, snapshot: Snapshot, rows: NDArray[np.intp]) -> Floats:
    """Returns the cosines of the windows of `rows`, shape (len(rows),). Window lengths are computed for these few rows only:
    stored for all rows, each would have to be updated whenever a neighbour changes.

    The length of u + v + w is the root of u·u + v·v + w·w + 2 (u·v + u·w + v·w): six products of 8-bit vectors, so that none of
    them is written out in floating point.
    """
    vectors, scales = partition.columns["vector"], partition.columns["scale"]
    window: list[tuple[NDArray[np.int8], NDArray[np.float64]]] = []
    links: list[tuple[NDArray[np.integer], float]] = [(rows, 1.0)]
    if snapshot.linked:
        links += [(snapshot.before.take(rows), 0.5), (snapshot.after.take(rows), 0.5)]
    for link, weight in links:
        scale = np.where(link < snapshot.rows, weight * scales.take(link, mode="clip"), 0.0)
        window.append((vectors.take(link, axis=0, mode="clip"), scale))
    squares = np.zeros(len(rows))
    for index, (values, scale) in enumerate(window):
        squares += scale**2 * row_dots(values, values)
        for others, their_scale in window[:index]:
            squares += 2 * scale * their_scale * row_dots(values, others)
    cosine: Floats = (near.sums.take(rows) / np.sqrt(np.maximum(squares, 1e-12))).astype(np.float32)
    return cosine
