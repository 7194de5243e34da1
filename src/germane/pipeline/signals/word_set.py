"""Word set: the set of words in a text, to rule out quickly that a pattern can match before it is searched for."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

__all__ = ["lacks_all", "word_set"]

_WORD = re.compile(r"[a-z]+")


@lru_cache(maxsize=8)
def word_set(text: str) -> frozenset[str] | None:
    """The words of an ASCII text in lower case, letters only; None for a text that isn't ASCII, which may contain any word."""
    return frozenset(_WORD.findall(text.lower())) if text.isascii() else None


def lacks_all(text: str, words: Set[str]) -> bool:
    """Whether the text certainly contains none of these words. One check of a set is faster than searching for each word, and
    usually the answer is True."""
    found = word_set(text)
    return found is not None and found.isdisjoint(words)
