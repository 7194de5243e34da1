"""Word vectors: which words mean nearly the same. Not an embedder: of single words, and always at hand without waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["WordVectors"]


class WordVectors(Protocol):
    """Safe to use from any thread. The same word gets the same vector every time."""

    def likeness(self, words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(words), len(others)): the cosine of each with each, what all words have in common taken out; 0 for
        what has no vector."""
