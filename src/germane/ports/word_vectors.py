"""WordVectors: the protocol for finding words of similar meaning, from vectors of single words held in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["HasWordVectors", "WordVectors"]


class WordVectors(Protocol):
    """Thread-safe and deterministic: the same stems and words always give the same cosines. Never waits for a network."""

    def cosines(self, stems: NDArray[np.uint32], words: Sequence[str]) -> NDArray[np.float32]:
        """Returns the cosine of each stem, given by its hash, with each of `words`: shape (len(stems), len(words)). The
        direction that all words share is removed first. A stem without a vector has cosine 0 with every word; the column of a
        word without a vector is NaN."""


@runtime_checkable
class HasWordVectors(Protocol):
    """Optional capability of an embedder: it holds vectors of single words in memory."""

    def word_vectors(self) -> WordVectors:
        """Returns them."""
