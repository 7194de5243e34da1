"""Hashed: an embedder for tests that needs no model and gives the same vectors on every machine.

The vector of a text is the normalised sum of fixed pseudo-random vectors of its words, so texts that share words are similar.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError

__all__ = ["Hashed"]


class Hashed:
    """An embedder of `dimension` dimensions. Different names give different vector spaces. With `quick=False` `embed_now`
    raises `EmbedderError`."""

    def __init__(self, name: str = "hashed", *, dimension: int = 16, quick: bool = True) -> None:
        self._name, self._dimension, self._quick = name, dimension, quick

    @property
    def identity(self) -> str:
        return f"{self._name}/{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def quick(self) -> bool:
        return self._quick

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors(texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self._quick:
            raise EmbedderError(f"{self.identity} isn't quick: await embed")
        return self._vectors(texts)

    async def close(self) -> None:
        """Does nothing: there is nothing to close."""

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                digest = blake2b(f"{self._name} {word}".encode(errors="replace"), digest_size=2 * self._dimension).digest()
                row += np.frombuffer(digest, "<u2").astype(np.float32) / 32768 - 1
            row /= max(float(np.linalg.norm(row)), 1e-9)
        return rows
