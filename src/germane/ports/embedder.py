"""Embedder: texts to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder"]


class Embedder(Protocol):
    """Turns texts into unit-length float32 vectors of one space. Implementations raise `EmbedderError`, nothing else.

    `quick` says that a text takes well under a millisecond and no network, so that `embed_now` may be called on any thread and
    inside a transaction. Texts of a slow one are stored first, served by keywords, and embedded right after.
    """

    @property
    def identity(self) -> str:
        """Model, version and dimension, such as `static/l2_supercat/256`: equal identities share a space (SEARCH-3)."""

    @property
    def dimension(self) -> int: ...

    @property
    def quick(self) -> bool: ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), dimension). An empty or unreadable text gives a zero row."""

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same, blocking; only for a quick one. Others raise `EmbedderError`."""

    async def close(self) -> None: ...
