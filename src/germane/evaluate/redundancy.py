"""Redundancy: how much of what is shown says again what is shown already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from germane.text.normal import fold

__all__ = ["ALIKE", "redundancy", "shingles"]

ALIKE = 0.5
"""The Jaccard index from which two texts are near-duplicates."""

_WORD = re.compile(r"\w+")
_LENGTH = 3


def redundancy(texts: Sequence[str]) -> float | None:
    """The share of the texts that nearly repeat one before them: |A ∩ B| / |A ∪ B| ≥ 0.5 for the sets A and B of their
    three-word shingles (Broder's resemblance). None for no texts."""
    if not texts:
        return None
    sets: list[frozenset[tuple[str, ...]]] = []
    holders: dict[tuple[str, ...], list[int]] = {}
    repeated = 0
    for text in texts:
        own = shingles(text)
        shared = Counter(holder for shingle in own for holder in holders.get(shingle, ()))
        repeated += any(both / (len(own) + len(sets[other]) - both) >= ALIKE for other, both in shared.items())
        for shingle in own:
            holders.setdefault(shingle, []).append(len(sets))
        sets.append(own)
    return repeated / len(texts)


@lru_cache(maxsize=1 << 12)
def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Every three words in a row, folded; of a shorter text, all its words at once."""
    words = _WORD.findall(fold(text))
    if len(words) < _LENGTH:
        return frozenset([tuple(words)] if words else [])
    return frozenset(zip(words, words[1:], words[2:], strict=False))
