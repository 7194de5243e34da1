"""WordVectors: the protocol for finding words of similar meaning, from vectors of single words held in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["HasWordVectors", "SimilarWords", "WordVectors"]


class SimilarWords(NamedTuple):
    """The words of some texts, text after text, compared with words asked about.

    `cosines` has a row for each word of the texts and a column for each word asked about; the direction that all words share is
    removed first, and a word without a vector has cosine 0. `stems`, one for each row, are hashes of the words' stems. `starts`
    holds each text's first row; every text has at least one row.
    """

    cosines: NDArray[np.float32]
    stems: NDArray[np.int64]
    starts: NDArray[np.intp]


class WordVectors(Protocol):
    """Thread-safe and deterministic: the same texts and words always give the same cosines. Never waits for a network."""

    def similar(self, texts: Sequence[str], words: Sequence[str]) -> SimilarWords:
        """Compares the words of each text with `words`. `texts` must hold at least one text; only the beginning of a long text
        is read."""


@runtime_checkable
class HasWordVectors(Protocol):
    """Optional capability of an embedder: it holds vectors of single words in memory."""

    def word_vectors(self) -> WordVectors:
        """Returns them, with an empty cache."""
