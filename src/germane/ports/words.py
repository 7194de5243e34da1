"""Word vectors: which words mean nearly the same. Not an embedder: of single words, and always at hand without waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["SimilarWords", "WordVectors"]


class SimilarWords(NamedTuple):
    """The words of some texts, one text after another. `near` has a row a word and a column for each word asked about: their
    cosine, what all words have in common taken out, 0 for what has no vector. `stems` are the hashes of their stems, `starts`
    is where each text begins; every text has at least one row."""

    near: NDArray[np.float32]
    stems: NDArray[np.int64]
    starts: NDArray[np.intp]


class WordVectors(Protocol):
    """Safe to use from any thread. The same texts and words get the same answer every time."""

    def kindred(self, texts: Sequence[str], words: Sequence[str]) -> SimilarWords:
        """Of at least one text. A long one is looked at from its beginning only."""
