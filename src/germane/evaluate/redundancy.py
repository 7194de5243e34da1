"""Redundancy: metrics of wasted text: shown items that repeat another, and superseded messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from germane.text.normal import fold

__all__ = ["ALIKE", "current", "redundancy", "shingles", "stale", "unmarked"]

ALIKE = 0.5
"""The Jaccard index from which on two texts are near-duplicates."""

_WORD = re.compile(r"\w+")
_LENGTH = 3


def redundancy(texts: Sequence[str]) -> float | None:
    """The share of the texts that nearly repeat an earlier one, [0, 1]: |A ∩ B| / |A ∪ B| ≥ 0.5 for the sets A and B of their
    three-word shingles (resemblance; Broder 1997). None where there are no texts."""
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
    """Every three consecutive words of the folded text; a shorter text has one shingle with all of its words. LRU-cached."""
    words = _WORD.findall(fold(text))
    if len(words) < _LENGTH:
        return frozenset([tuple(words)] if words else [])
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def stale(shown: Collection[str], *, superseded: Collection[str], evidence: Collection[str]) -> bool | None:
    """Whether a superseded message is shown without any of its replacements, which are the evidence that isn't superseded
    itself. None where no message is superseded."""
    if not superseded:
        return None
    current = set(evidence) - set(superseded)
    return not set(shown).isdisjoint(superseded) and current.isdisjoint(shown)


def current(shown: Collection[str], *, superseded: Collection[str], evidence: Collection[str]) -> bool | None:
    """Whether any replacement of a superseded message is shown. None where no message is superseded."""
    return not (set(evidence) - set(superseded)).isdisjoint(shown) if superseded else None


def unmarked(shown: Mapping[str, bool], *, superseded: Collection[str]) -> bool | None:
    """Whether a superseded message is shown without a mark that says so; `shown` says of each message whether it is marked.
    None where no message is superseded."""
    return any(not marked for id, marked in shown.items() if id in superseded) if superseded else None
