"""Quantised: unit vectors as 8-bit integers with one scale each, and as 256 bits.

The integers take a quarter of the memory of float32. Each vector is divided by (its largest absolute component / 127) and
rounded. The error of a dot product of two unit vectors of 256 dimensions is 0.0006 (standard deviation, measured; 0.003 at
most), too little to matter for ranking. simsimd multiplies 100,000 × 256 such vectors in 1.1 ms on one core (half precision
takes 2.4 ms, float32 in numpy 5 ms); its kernels start no threads and release the interpreter lock. Where simsimd can't be
imported, numpy computes the same, about ten times slower.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from germane.search.columns import Columns

try:
    import simsimd

    _KERNELS: Any = simsimd
except ImportError:  # no wheel for this platform
    _KERNELS = None


_CHUNK = 4096

Scales = NDArray[np.float32]
Values = NDArray[np.int8]


def quantise(matrix: NDArray[np.floating]) -> tuple[Values, Scales]:
    """Returns the 8-bit vectors, shape (rows, dimension), and their scales, shape (rows,). A row of zeros has scale 0."""
    rows = np.asarray(matrix, np.float32)
    scales = np.abs(rows).max(axis=1, initial=0.0) / np.float32(127)
    return np.rint(rows / np.where(scales > 0, scales, np.float32(1))[:, None]).astype(np.int8), scales.astype(np.float32)


def encode(matrix: NDArray[np.floating]) -> list[bytes]:
    """Returns one blob for each row, for storage: a little-endian float32 scale, then one signed byte for each dimension."""
    values, scales = quantise(matrix)
    return [scale.tobytes() + row.tobytes() for scale, row in zip(scales.astype("<f4"), values, strict=True)]


def decode(blobs: Sequence[bytes | None], dimension: int) -> tuple[Values, Scales]:
    """Reads blobs made by `encode`: shapes (len(blobs), dimension) and (len(blobs),). None, and blobs of another dimension,
    give zeros with scale 0."""
    size = 4 + dimension
    present = [blob or b"" for blob in blobs]
    if any(map(size.__ne__, map(len, present))):
        present = [blob if len(blob) == size else bytes(size) for blob in present]
    table = np.frombuffer(b"".join(present), np.dtype([("scale", "<f4"), ("values", "i1", (dimension,))]))
    return table["values"], table["scale"]


def dequantise(values: Values, scales: Scales) -> NDArray[np.float32]:
    """Returns the vectors as float32, shape (len(values), dimension)."""
    return values.astype(np.float32) * scales[:, None]


def dots(values: Values, scales: Scales, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the dot product of each row with `vector`, shape (len(values),)."""
    if not len(values) or not vector.any():
        return np.zeros(len(values), np.float32)
    return dot_matrix(values, scales, *quantise(vector[None])).ravel()


def row_dots(values: Values, others: Values) -> NDArray[np.float64]:
    """Returns the dot product of each row of `values` with the same row of `others`, before either is scaled: shape
    (len(values),). Exact."""
    if not len(values):
        return np.zeros(0)
    products: NDArray[Any]
    if _KERNELS is None:
        products = np.einsum("ij,ij->i", values, others, dtype=np.int32)
    else:
        products = np.asarray(_KERNELS.dot(values, others))
    return products.astype(np.float64).reshape(len(values))


def dot_matrix(values: Values, scales: Scales, others: Values, their_scales: Scales) -> NDArray[np.float32]:
    """Returns the dot product of each row of `values` with each of `others`, shape (len(values), len(others))."""
    if not (len(values) and len(others)):
        return np.zeros((len(values), len(others)), np.float32)
    products: NDArray[Any]
    if _KERNELS is None:
        transposed, starts = others.astype(np.float32).T, range(0, len(values), _CHUNK)
        products = np.concatenate([values[start : start + _CHUNK].astype(np.float32) @ transposed for start in starts])
    else:
        products = np.asarray(_KERNELS.cdist(values, others, metric="dot", out_dtype="float32"))
    scaled: NDArray[np.float32] = np.multiply(products, scales[:, None] * their_scales, dtype=np.float32, casting="unsafe")
    return scaled


# 256 bits for each vector, by which the nearest of many vectors are found without reading the vectors. Each bit says on
# which side of a random plane the vector lies (Charikar 2002): two vectors at an angle of θ differ in 256 · θ / π bits
# on average. Cosine 0.92 is 33 bits, with a standard deviation of 5.4. The first 64 bits of all rows are compared
# first, which takes a scan of 8 bytes per row; only rows that are near in these are compared in the others.


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
