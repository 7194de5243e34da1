"""TableEmbedder: what the embedders that sum vectors of a table share: loading, long texts, unit length, single words."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from germane.embedders.word_vectors import StaticWordVectors

__all__ = ["TableEmbedder"]

T = TypeVar("T")

_HEAD, _TAIL = 8_000, 2_000
_INLINE = 10_000
"""Characters that take about 2 ms to embed: up to so many are embedded on the event loop."""

_loading = threading.Lock()
_tables = WeakValueDictionary[type, Any]()
"""The tables that embedders of this process have loaded, by the embedders' class. A table is only read, so all of a class share
one, and it is released when the last of them is closed."""
_words = WeakValueDictionary[type, StaticWordVectors]()
"""The word vectors that are made from these tables, likewise."""


class TableEmbedder(ABC, Generic[T]):
    """Unit-length sums of vectors of a table. Thread-safe.

    The table is loaded at the first use, or by `warm` or `prepare`; embedders of one class share it. Of a text longer than
    10,000 characters the first 8,000 and the last 2,000 are read.
    """

    identity: str
    dimension: int
    quick = True

    def __init__(self) -> None:
        self._table: T | None = None
        self._words: StaticWordVectors | None = None

    @abstractmethod
    def _load(self) -> T:
        """Reads the table from its files: an object that can be weakly referenced. Raises `EmbedderError`."""

    @abstractmethod
    def _add(self, table: T, text: str, vector: NDArray[np.float32], between: Callable[[], None]) -> None:
        """Adds the vectors of the text's pieces to `vector`, which holds zeros. Calls `between` after each piece that isn't in
        its cache."""

    @abstractmethod
    def _whole_words(self, table: T) -> tuple[Sequence[str], NDArray[Any]]:
        """Returns the whole words of the vocabulary, and the vector of each, one a row, of any length."""

    def warm(self) -> None:
        """Loads the table now. Idempotent. Raises `EmbedderError` when its files can't be read."""
        self._loaded()

    async def prepare(self) -> None:
        """As `warm`, in a thread."""
        await asyncio.to_thread(self.warm)

    def word_vectors(self) -> StaticWordVectors:
        """Returns the vectors of single words from this table; the same ones for all who ask, as making them takes a third of a
        second."""
        words = self._words
        if words is None:
            with _loading:
                words = _words.get(type(self))
                if words is None:
                    words = _words[type(self)] = StaticWordVectors(self)
            self._words = words
        return words

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `embed_now`. A large batch or the first load would block the event loop, so they run in a thread."""
        if self._table is None or sum(min(len(text), _HEAD + _TAIL) for text in texts) > _INLINE:
            return await asyncio.to_thread(self.embed_now, texts)
        return self.embed_now(texts)

    async def embed_in_background(self, texts: Sequence[str], between: Callable[[], None]) -> NDArray[np.float32]:
        """As `embed_now`, in a thread, with pauses; see `Pausing`."""
        return await asyncio.to_thread(self._embedded, texts, between)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embedded(texts)

    def _embedded(self, texts: Sequence[str], between: Callable[[], None] = lambda: None) -> NDArray[np.float32]:
        table = self._loaded()
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            self._add(table, text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}", vector, between)
            between()
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)  # the sum has the direction of the mean
        return vectors

    def whole_words(self) -> tuple[Sequence[str], NDArray[Any]]:
        """Returns the whole words of the vocabulary, and the vector of each, of any length."""
        return self._whole_words(self._loaded())

    async def close(self) -> None:
        """Lets go of the table, which is loaded again at the next use unless another embedder still has it. Idempotent."""
        self._table = self._words = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.identity}>"

    def _loaded(self) -> T:
        table = self._table
        if table is None:
            with _loading:
                table = _tables.get(type(self))
                if table is None:
                    table = _tables[type(self)] = self._load()
            self._table = table
        return table
