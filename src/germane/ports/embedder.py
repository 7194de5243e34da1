"""Embedder: texts to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder"]


class Embedder(Protocol):
    """Turns texts into unit-length float32 vectors of one space. Implementations raise `EmbedderError`, nothing else.

    `local` says that `embed` is quick, needs no network and may be called on any thread through `embed_now`.
    """

    @property
    def identity(self) -> str:
        """Model, version and dimension, such as `static/l2_supercat/256`: equal identities share a space (SEARCH-3)."""

    @property
    def dimension(self) -> int: ...

    @property
    def local(self) -> bool: ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), dimension). An empty or unreadable text gives a zero row."""

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same, blocking; only for a local one. Others raise `EmbedderError`."""

    async def close(self) -> None: ...
