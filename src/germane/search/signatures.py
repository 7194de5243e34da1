"""Signatures: 256 bits for each vector, by which the nearest of many vectors are found without reading the vectors.

Each bit says on which side of a random plane the vector lies (Charikar 2002): two vectors at an angle of θ differ in
256 · θ / π bits on average. Cosine 0.92 is 33 bits, with a standard deviation of 5.4. The first 64 bits of all rows
are compared first, which takes a scan of 8 bytes a row; only rows that are near in these are compared in the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from germane.search.columns import Columns
from germane.search.quantised import dot_matrix, quantise

__all__ = ["Bits", "Signatures"]

_BITS = 256
_WORDS = _BITS // 64
_LIMITS = (16, 30, 44, 57)
"""Bits that a near vector differs in at most, of the first 64, 128, 192 and 256: 3.1 to 4.5 standard deviations above the
average of cosine 0.92, so that one vector in 500 is missed at that cosine, and hardly any above 0.94."""
_COLUMNS: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {"key": (np.int64, ())} | {
    f"word{index}": (np.uint64, ()) for index in range(_WORDS)
}
_SEED = 0x6E656172
Bits = NDArray[np.uint64]


class Signatures:
    """The signatures of rows, each with a key. Not thread-safe."""

    def __init__(self, dimension: int) -> None:
        self._planes = _planes(dimension)
        self._columns = Columns(_COLUMNS)

    def __len__(self) -> int:
        return self._columns.rows

    def sign(self, values: NDArray[np.int8]) -> Bits:
        """Returns the signatures of 8-bit vectors, shape (rows, 4)."""
        sides = dot_matrix(values, np.ones(len(values), np.float32), *self._planes) > 0
        return np.packbits(sides, axis=1).view(np.uint64)

    def add(self, keys: NDArray[np.int64], bits: Bits) -> None:
        words = {f"word{index}": bits[:, index] for index in range(_WORDS)}
        self._columns.append(len(keys), {"key": keys} | words)

    def drop(self, keys: Iterable[int]) -> None:
        """Removes the rows with these keys, so that nothing of them is left."""
        rows, gone = self._columns.rows, np.fromiter(keys, np.int64)
        kept = ~np.isin(self._columns["key"][:rows], gone)
        if kept.all():
            return
        old, self._columns = self._columns, Columns(_COLUMNS)
        values = {name: old[name][:rows][kept] for name in _COLUMNS}
        self._columns.append(int(kept.sum()), values)

    def near(self, bits: Bits, limit: int) -> list[NDArray[np.int64]]:
        """Returns for each signature the keys of at most `limit` rows that may have a cosine of 0.92 or more with it, the
        nearest first."""
        rows = self._columns.rows
        keys, words = self._columns["key"][:rows], [self._columns[f"word{index}"][:rows] for index in range(_WORDS)]
        room = np.empty(rows, np.uint64), np.empty(rows, np.uint8), np.empty(rows, np.bool_)
        return [keys[_near(one, words, room)[:limit]] for one in bits]


@lru_cache(maxsize=4)
def _planes(dimension: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The planes, the same for all signatures of a dimension: making them takes milliseconds, and they take more memory than
    the signatures of a thousand vectors."""
    planes = quantise(np.random.default_rng(_SEED).standard_normal((_BITS, dimension)))
    for array in planes:
        array.setflags(write=False)
    return planes


def _near(one: Bits, words: list[Bits], room: tuple[Bits, NDArray[np.uint8], NDArray[np.bool_]]) -> NDArray[np.intp]:
    """Returns the rows that are near, the nearest first. `room` has an entry for each row: memory that is taken once for all
    searches, as taking it costs more than a search."""
    xor, counts, within = room
    np.bitwise_count(np.bitwise_xor(words[0], one[0], out=xor), out=counts)
    near = np.flatnonzero(np.less_equal(counts, _LIMITS[0], out=within))
    differing = counts[near].astype(np.int16)
    for word, part, most in zip(words[1:], one[1:], _LIMITS[1:], strict=True):
        if not len(near):
            break
        differing += np.bitwise_count(word[near] ^ part)
        kept = differing <= most
        near, differing = near[kept], differing[kept]
    return near[np.argsort(differing, kind="stable")]
