"""Distilled: the default embedder, which sums static vectors of word pieces; no network, tens of microseconds a text.

The vectors are a file of this package, `distilled.npz`: 256 numbers of eight bits for each piece, with a scale that holds its
weight. `python -m bench distil` made it from the sentence model all-MiniLM-L6-v2 (Apache-2.0) alone, without any text; the file
says from which version, and how.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from germane.embedders.character_grams import GRAMS, gram_vectors
from germane.embedders.word_pieces import WordPieces
from germane.embedders.word_vectors import StaticWordVectors
from germane.errors import EmbedderError

__all__ = ["Distilled"]

_NAME = "distilled.npz"
_DIMENSION = 256
_HEAD, _TAIL = 8_000, 2_000
_GRAM_SCALE = 0.02
"""Makes an n-gram about as long as the vector of a piece."""
_SHARED = 0.5
"""Words of other scripts have this much in common, as words of any sentence model have. Their n-grams alone are orthogonal, so
that P(relevant) and P(need), which are fitted to English, would come out too low. Measured by hand on questions and small talk
in Russian: at 0 questions fall below the threshold, at 0.8 small talk gets above it."""
_INLINE = 10_000
"""Characters that take about 2 ms to embed: up to so many are embedded on the event loop."""


class Distilled:
    """Unit-length weighted means of the vectors of a text's word pieces, 256 dimensions. Thread-safe.

    The table (8 MB) is loaded at the first use, or by `warm` or `prepare`. Of a text longer than 10,000 characters the first
    8,000 and the last 2,000 are read.
    """

    identity = f"distilled/minilm-1/{_DIMENSION}"
    dimension = _DIMENSION
    quick = True

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._table: _Table | None = None

    def warm(self) -> None:
        """Loads the table now (about 0.03 s). Idempotent. Raises `EmbedderError` when its file can't be read."""
        self._loaded()

    async def prepare(self) -> None:
        """As `warm`, in a thread."""
        await asyncio.to_thread(self.warm)

    def word_vectors(self) -> StaticWordVectors:
        """Returns the vectors of single words from this table, with an empty cache of their own."""
        return StaticWordVectors(self)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `embed_now`. A large batch or the first load would block the event loop, so they run in a thread."""
        if self._table is None or sum(min(len(text), _HEAD + _TAIL) for text in texts) > _INLINE:
            return await asyncio.to_thread(self.embed_now, texts)
        return self.embed_now(texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        table = self._loaded()
        vectors = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            if ids := table.pieces.ids(text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"):
                rows = np.array(ids)
                table.add(rows, vector)
                if len(grams := rows[rows >= table.grams]):
                    vector += _SHARED * np.linalg.norm(table.add(grams, np.zeros_like(vector))) * table.shared
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors

    def typical(self) -> NDArray[np.float32]:
        """Returns the mean of the unit vectors of all whole words of the vocabulary, shape (256,): the direction that words
        share."""
        table = self._loaded()
        vectors = table.values[table.whole].astype(np.float32)
        mean: NDArray[np.float32] = (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)).mean(axis=0)
        return mean

    async def close(self) -> None:
        """Releases the table, which is loaded again at the next use. Idempotent."""
        self._table = None

    def __repr__(self) -> str:
        return f"<Distilled {self.identity}>"

    def _loaded(self) -> _Table:
        table = self._table
        if table is None:
            with self._loading:
                table = self._table
                if table is None:
                    table = self._table = _Table.load()
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The vector of piece i is `values[i] * scales[i]`."""

    values: NDArray[np.int8]
    scales: NDArray[np.float32]
    pieces: WordPieces
    whole: NDArray[np.intp]
    """The rows of whole words of three letters or more."""
    grams: int
    """The first row of the n-grams."""
    shared: NDArray[np.float32]
    """A unit vector, the direction that words of other scripts share."""

    def add(self, rows: NDArray[np.intp], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Writes the sum of the pieces' vectors to `vector` and returns it. `einsum` starts no threads, as a matrix product
        would for long texts."""
        summed: NDArray[np.float32] = np.einsum("i,ij->j", self.scales.take(rows), self.values.take(rows, axis=0), out=vector)
        return summed

    @classmethod
    def load(cls) -> _Table:
        source = files("germane.embedders") / _NAME
        try:
            with as_file(source) as path, np.load(path, allow_pickle=False) as file:
                hashed = gram_vectors(_DIMENSION, GRAMS + 1)
                values = np.concatenate([file["values"], hashed[:-1]])
                scales = np.concatenate([file["scales"], np.full(GRAMS, _GRAM_SCALE, np.float32)])
                vocabulary = file["vocabulary"].tobytes().decode().split("\n")
        except Exception as error:  # zipfile, numpy and the decoder raise errors of their own
            raise EmbedderError(f"the vectors of the default embedder can't be read from {source}: {error}") from error
        whole = [row for row, piece in enumerate(vocabulary) if len(piece) > 2 and piece.isalpha()]
        shared = hashed[-1].astype(np.float32) / np.float32(_DIMENSION**0.5)
        return cls(
            values=values,
            scales=scales,
            pieces=WordPieces(vocabulary),
            whole=np.array(whole, np.intp),
            grams=len(vocabulary),
            shared=shared,
        )
