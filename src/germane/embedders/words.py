"""Words: the static embedder's vectors of single words, remembered.

Every word's vector leans the same way, which makes strangers look alike: the mean over the vocabulary's whole words is taken
out of each. Remembered by digests, never as text: float16, at most 65,536 words (32 MB); beyond that it begins anew.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from germane.embedders.static import Static

__all__ = ["Words"]

_MOST = 65_536

_Table = NDArray[np.float16]


class Words:
    def __init__(self, static: Static) -> None:
        self._static = static
        self._lock = threading.Lock()
        self._kept: tuple[dict[int, int], _Table] = {}, np.empty((0, static.dimension), np.float16)
        """Where each word's vector stands, and the vectors: rows are written before they are spoken of, and never after."""
        self._mean: NDArray[np.float32] | None = None

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        places, table = self._kept
        keys = list(map(hash, words))
        found = list(map(places.get, keys))
        if None in found:
            places, table = self._learn(dict(zip(keys, words, strict=True)))
            found = [places[key] for key in keys]
        return table[np.array(found, np.intp)].astype(np.float32)

    def _learn(self, words: dict[int, str]) -> tuple[dict[int, int], _Table]:
        """What is kept, these among it."""
        with self._lock:
            places, table = self._kept
            new = {key: word for key, word in words.items() if key not in places}
            if len(places) + len(new) > max(_MOST, len(new)):
                places, table, new = {}, table[:0], words
            first, needed = len(places), len(places) + len(new)
            if len(table) < needed:
                grown = np.zeros((needed + needed // 2 + 1024, self._static.dimension), np.float16)
                grown[:first] = table[:first]
                table = grown
            table[first:needed] = self._made(list(new.values()))
            places.update(zip(new, range(first, needed), strict=True))
            self._kept = places, table
            return places, table

    def _made(self, words: Sequence[str]) -> NDArray[np.float32]:
        if self._mean is None:
            self._mean = self._static.typical()
        vectors = self._static.embed_now(words)
        vectors -= self._mean * vectors.any(axis=1, keepdims=True)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        made: NDArray[np.float32] = np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return made
