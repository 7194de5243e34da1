"""Words: the static embedder's vectors of single words, remembered.

Every word's vector leans the same way, which makes strangers look alike: the mean over the vocabulary's whole words is taken
out of each. Remembered by digests, never as text, in eight bits a dimension: at most 65,536 words (17 MB); beyond that it
begins anew.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from germane.embedders.static import Static
from germane.search.quantised import crossed, quantise, restored

__all__ = ["Words"]

_MOST = 65_536

T = TypeVar("T", np.int8, np.float32)


class _Kept(NamedTuple):
    """Where each word's vector stands, and the vectors: rows are written before they are spoken of, and never after."""

    places: dict[int, int]
    values: NDArray[np.int8]
    scales: NDArray[np.float32]


class Words:
    def __init__(self, static: Static) -> None:
        self._static = static
        self._lock = threading.Lock()
        self._kept = _Kept({}, np.empty((0, static.dimension), np.int8), np.empty(0, np.float32))
        self._mean: NDArray[np.float32] | None = None

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(words), dimension), unit length; zeros for what has none."""
        return restored(*self._rows(words))

    def likeness(self, words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
        return crossed(*self._rows(words), *self._rows(others))

    def _rows(self, words: Sequence[str]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        places, values, scales = self._kept
        found = list(map(places.get, map(hash, words)))
        if None in found:
            new = {hash(word): word for word, place in zip(words, found, strict=True) if place is None}
            places, values, scales = self._learn(new)
            found = list(map(places.get, map(hash, words)))
            if None in found:  # the memory was full and has begun anew
                places, values, scales = self._learn({hash(word): word for word in words})
                found = list(map(places.get, map(hash, words)))
        rows = np.array(found, np.intp)
        return values[rows], scales[rows]

    def _learn(self, words: dict[int, str]) -> _Kept:
        """What is kept, these among it."""
        with self._lock:
            places, values, scales = self._kept
            new = {key: word for key, word in words.items() if key not in places}
            if len(places) + len(new) > max(_MOST, len(new)):
                places, values, scales, new = {}, values[:0], scales[:0], words
            first, needed = len(places), len(places) + len(new)
            if len(values) < needed:
                spare = needed + needed // 2 + 1024
                values, scales = _grown(values, first, spare), _grown(scales, first, spare)
            values[first:needed], scales[first:needed] = quantise(self._made(list(new.values())))
            places.update(zip(new, range(first, needed), strict=True))
            self._kept = _Kept(places, values, scales)
            return self._kept

    def _made(self, words: Sequence[str]) -> NDArray[np.float32]:
        if self._mean is None:
            self._mean = self._static.typical()
        vectors = self._static.embed_now(words)
        vectors -= self._mean * vectors.any(axis=1, keepdims=True)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        made: NDArray[np.float32] = np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return made


def _grown(array: NDArray[T], kept: int, size: int) -> NDArray[T]:
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[:kept] = array[:kept]
    return grown
