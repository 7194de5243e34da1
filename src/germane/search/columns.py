"""Columns: numpy arrays that grow by rows and can be read by other threads while they grow.

A reader reads `rows` once and ignores everything beyond it. Growing replaces an array by a larger copy, so an array that a
reader holds never moves. New rows are written first and published when all their values are known. Readers need no lock; only
one thread may write at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Columns"]

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
