"""Columns: growing numpy arrays that can be read while they grow.

A reader takes `rows` once and looks at nothing beyond it; growth replaces an array by a larger copy, so what the reader
holds stays where it was. New rows are written first and published when everything about them is known. Only one thread may
write at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Columns"]


class Columns:
    """Named columns of one length. `shapes` gives each column's dtype and the shape of one entry."""

    def __init__(self, shapes: dict[str, tuple[DTypeLike, tuple[int, ...]]]) -> None:
        self.rows = 0
        self._arrays: dict[str, NDArray[Any]] = {name: np.empty((0, *entry), dtype) for name, (dtype, entry) in shapes.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The whole array, spare room included: slice it by the `rows` you took."""
        return self._arrays[name]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def append(self, count: int, values: dict[str, NDArray[Any]]) -> None:
        """`count` rows more, seen at once; every column must be given."""
        self.write(count, values)
        self.publish(count)

    def write(self, count: int, values: dict[str, NDArray[Any]]) -> None:
        """The same, but nobody sees them before `publish`."""
        needed = self.rows + count
        for name, array in self._arrays.items():
            if len(array) < needed:
                grown = np.zeros((needed + needed // 8 + 16, *array.shape[1:]), array.dtype)
                grown[: self.rows] = array[: self.rows]
                self._arrays[name] = array = grown
            array[self.rows : needed] = values[name]

    def publish(self, count: int) -> None:
        """From now on the `count` rows written last can be seen."""
        self.rows += count
