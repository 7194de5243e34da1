"""Cosines of units and of their windows with the query, exact, over every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.query import Vector
from germane.search.dots import dots
from germane.search.partition import Partition
from germane.search.snapshot import Snapshot

__all__ = ["Cosines", "cosines"]

_CHUNK = 16384

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    own: Floats
    window: Floats


def cosines(partition: Partition, vector: Vector, seen: Snapshot, stop: Callable[[], bool]) -> Cosines:
    """The window's vector is v + ½ v_before + ½ v_after, normalised: its cosine follows from the three dot products and
    the window's stored norm, so there is one scan. Between chunks it asks whether to stop."""
    rows, vectors = seen.rows, partition.columns["vector"]
    own = np.zeros(rows, np.float32)
    for start in range(0, rows, _CHUNK):
        if stop():
            break
        end = min(start + _CHUNK, rows)
        own[start:end] = dots(vectors[start:end], vector)
    window = own + np.float32(0.5) * seen.around(own)
    return Cosines(own=own, window=window / partition.columns["norm"][:rows])
