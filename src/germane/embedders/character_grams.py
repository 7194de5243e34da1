"""Character n-grams: hashes of the parts of a word, for words of scripts that a WordPiece vocabulary doesn't cover.

Texts in these scripts are alike where they share parts of words, as in feature hashing (Weinberger et al. 2009). Nothing is
known of their meaning, but inflected forms are found, and all scripts are treated alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

__all__ = ["FOREIGN", "GRAMS", "gram_vectors", "grams"]

GRAMS = 8_192
"""The number of hashes."""

FOREIGN = re.compile(
    "[\u0370-\u1cff\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2dff\u2e80-\u2fff\u3005-\u3007\u3031-\ua6ff\ua800-\uab2f"
    "\uab70-\ufaff\ufb13-\ufdff\ufe70-\ufeff\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U000323af]++"
)
"""A run of characters of scripts other than Latin; punctuation of these scripts may be among them."""

_WIDE = "\u2e80"
"""From here on a character is a syllable or a word of its own: Chinese, Japanese, Korean."""


def grams(run: str) -> Iterator[int]:
    """Yields the hashes, below `GRAMS`, of the pairs and triples of a run's letters, its ends included; where letters are
    syllables or words, of single letters and pairs. An empty run has none."""
    sizes, padded = ((1, 2), run) if not run or run[0] >= _WIDE else ((2, 3), f" {run} ")
    for size in sizes:
        for start in range(len(padded) - size + 1):
            yield crc32(padded[start : start + size].encode("utf-8", "surrogatepass")) % GRAMS


def gram_vectors(dimension: int, count: int = GRAMS) -> NDArray[np.int8]:
    """Returns vectors of random signs, shape (count, dimension), always the same. Two of them are nearly orthogonal."""
    raw = np.random.PCG64(0).random_raw(count * dimension // 64).astype("<u8")
    bits = np.unpackbits(raw.view(np.uint8)).reshape(count, dimension).view(np.int8)
    signs: NDArray[np.int8] = bits * np.int8(2) - np.int8(1)
    return signs
