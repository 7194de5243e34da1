"""Distilled: the default embedder, which sums static vectors of word pieces; no network, tens of microseconds a text.

The vectors are a file of this package, `distilled.npz`: 256 numbers of eight bits for each piece, with a scale that holds its
weight. `python -m bench distil` made it from the sentence model all-MiniLM-L6-v2 (Apache-2.0) alone, without any text; the file
says from which version, and how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from germane.embedders.character_grams import GRAMS, gram_vectors
from germane.embedders.table_embedder import TableEmbedder
from germane.embedders.word_pieces import WordPieces
from germane.errors import EmbedderError

__all__ = ["Distilled"]

_NAME = "distilled.npz"
_DIMENSION = 256
_GRAM_SCALE = 0.02
"""Makes an n-gram about as long as the vector of a piece."""
_SHARED = 0.5
"""Words of other scripts have this much in common, as words of any sentence model have. Their n-grams alone are orthogonal, so
that P(relevant) and P(need), which are fitted to English, would come out too low. Measured by hand on questions and small talk
in Russian: at 0 questions fall below the threshold, at 0.8 small talk gets above it."""


class Distilled(TableEmbedder["_Table"]):
    """Unit-length weighted means of the vectors of a text's word pieces, 256 dimensions. The table has 8 MB and is loaded in
    about 0.03 s."""

    identity = f"distilled/minilm-1/{_DIMENSION}"
    dimension = _DIMENSION

    def _load(self) -> _Table:
        return _Table.load()

    def _add(self, table: _Table, text: str, vector: NDArray[np.float32], between: Callable[[], None]) -> None:
        rows = np.array(table.pieces.ids(text, between), np.intp)
        grams = rows[rows >= table.grams]
        vector += table.sum(rows[rows < table.grams] if len(grams) else rows)
        if len(grams):
            found = table.sum(grams)
            vector += found + _SHARED * np.linalg.norm(found) * table.shared

    def _whole_words(self, table: _Table) -> tuple[Sequence[str], NDArray[np.int8]]:
        words = {word: row for row, word in enumerate(table.pieces.vocabulary) if len(word) > 2 and word.isalpha()}
        return list(words), table.values[list(words.values())]


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class _Table:
    """The vector of piece i is `values[i] * scales[i]`."""

    values: NDArray[np.int8]
    scales: NDArray[np.float32]
    pieces: WordPieces
    grams: int
    """The first row of the n-grams."""
    shared: NDArray[np.float32]
    """A unit vector, the direction that words of other scripts share."""

    def sum(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Returns the sum of these rows' vectors. `einsum` starts no threads, as a matrix product would for long texts."""
        summed: NDArray[np.float32] = np.einsum("i,ij->j", self.scales.take(rows), self.values.take(rows, axis=0))
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
        shared = hashed[-1].astype(np.float32) / np.float32(_DIMENSION**0.5)
        return cls(
            values=values,
            scales=scales,
            pieces=WordPieces(vocabulary),
            grams=len(vocabulary),
            shared=shared,
        )
