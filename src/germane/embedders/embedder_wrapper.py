"""EmbedderWrapper: what the embedders that wrap another embedder share: its identity, its dimension, its capabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from germane.ports.embedder import Embedder, is_contextual, shorten_query

__all__ = ["EmbedderWrapper"]


class EmbedderWrapper:
    """The embedder `inner` with everything as it is; a subclass changes what it is about."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def identity(self) -> str:
        return self._inner.identity

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def quick(self) -> bool:
        return self._inner.quick

    @property
    def contextual(self) -> bool:
        return is_contextual(self._inner)

    def shorten_query(self, text: str) -> str:
        return shorten_query(self._inner, text)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await self._inner.embed(texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._inner.embed_now(texts)

    async def close(self) -> None:
        await self._inner.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._inner!r}>"
