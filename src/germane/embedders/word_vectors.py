"""StaticWordVectors: vectors of the stems of a static table's vocabulary, found by the stems' hashes.

A stored text keeps only hashes of its stems, and these are enough to compare its words with those of a question. The vector of
a stem is the mean of those of the whole words that have it. All word vectors share a direction, which makes unrelated words
look similar, so the mean over the vocabulary is subtracted from each.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from germane.embedders.character_grams import FOREIGN
from germane.search.quantised import dot_matrix, quantise
from germane.text.analyse import stem, term_hash

__all__ = ["StaticWordVectors", "TokenTable"]

Floats = NDArray[np.float32]


class TokenTable(Protocol):
    """What `StaticWordVectors` needs of an embedder: unit vectors of words, and the whole words of its vocabulary."""

    def embed_now(self, texts: Sequence[str]) -> Floats: ...

    def whole_words(self) -> tuple[Sequence[str], Floats]:
        """The vectors are the caller's own, to be changed."""


class _Stems(NamedTuple):
    """`hashes` are sorted; the vector of each is `values[i] * scales[i]`. `mean` is the direction that all words share."""

    hashes: NDArray[np.uint32]
    values: NDArray[np.int8]
    scales: Floats
    mean: Floats


class StaticWordVectors:
    """Implements `ports.word_vectors.WordVectors`. The table of stems is made at the first use and takes 256 bytes a stem."""

    def __init__(self, table: TokenTable) -> None:
        self._table = table
        self._making = threading.Lock()
        self._stems: _Stems | None = None

    def cosines(self, stems: NDArray[np.uint32], words: Sequence[str]) -> Floats:
        known = self._known()
        place = np.minimum(np.searchsorted(known.hashes, stems), len(known.hashes) - 1)
        there = np.flatnonzero(known.hashes[place] == stems)
        rows, found = place[there], np.zeros((len(stems), len(words)), np.float32)
        asked, scales = quantise(_centred(self._table.embed_now(words), known.mean))
        found[there] = dot_matrix(known.values[rows], known.scales[rows], asked, scales)
        found[:, [not scale or FOREIGN.search(word) is not None for scale, word in zip(scales, words, strict=True)]] = np.nan
        return found

    def _known(self) -> _Stems:
        if self._stems is None:
            with self._making:
                self._stems = self._stems or _stems(self._table)
        return self._stems


def _stems(table: TokenTable) -> _Stems:
    words, vectors = table.whole_words()
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    mean = vectors.mean(axis=0)
    codes = np.fromiter((term_hash(stem(word, "english")) for word in words), np.uint32, len(words))
    order = np.argsort(codes, kind="stable")
    hashes, firsts = np.unique(codes[order], return_index=True)
    sums = np.add.reduceat(vectors[order], firsts, axis=0)
    sums -= mean * np.diff(firsts, append=len(codes)).astype(np.float32)[:, None]
    return _Stems(hashes, *quantise(_unit(sums)), mean)


def _centred(vectors: Floats, mean: Floats) -> Floats:
    """Returns the vectors without what all words share, of unit length; zeros stay zeros."""
    return _unit(vectors - mean * vectors.any(axis=1, keepdims=True))


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
