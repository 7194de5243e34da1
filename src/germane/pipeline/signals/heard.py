"""Heard: the words of a plain text. What looks for words in many ways looks here first, whether any of them was said: that is
quicker than looking for them one by one, and nearly always the answer."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

__all__ = ["heard", "silent"]

_WORD = re.compile(r"[a-z]+")


@lru_cache(maxsize=8)
def heard(text: str) -> frozenset[str] | None:
    """In lower case, without what isn't a letter; None where the text isn't in ASCII, and anything may have been said."""
    return frozenset(_WORD.findall(text.lower())) if text.isascii() else None


def silent(text: str, words: Set[str]) -> bool:
    """Whether certainly none of these was said."""
    said = heard(text)
    return said is not None and said.isdisjoint(words)
