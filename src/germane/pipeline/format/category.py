"""Category: which section an item stands in, and in which order sections come (FORMAT-1)."""

from __future__ import annotations

import re
from functools import lru_cache

from germane.text.normal import normalised

__all__ = ["CONVERSATION", "TALK", "rank", "tag"]

CONVERSATION = "conversation"
_ORDER = ("procedural", "factual", "preference", "behavioral", "episodic")
_ODD = re.compile(r"[^a-z0-9]+")
_LONGEST = 40
_READ = 512
"""Characters of a category that are looked at."""

TALK = len(_ORDER) + 1
"""The rank of stored messages: they come last."""


def rank(name: str) -> int:
    """By the fixed order; what isn't in it comes after it, sorted by name, and before the conversation."""
    if name == CONVERSATION:
        return TALK
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


@lru_cache(maxsize=256)
def tag(category: str, nonce: str) -> str:
    """The category as part of a tag's name: lowercase letters, digits and underscores, a letter first, and not the nonce."""
    plain = normalised(category[:_READ], "NFKD").encode("ascii", "ignore").decode().lower()
    name = _ODD.sub("_", plain).replace(nonce, "_").strip("_")[:_LONGEST].rstrip("_")
    return name if name[:1].isalpha() else f"other_{name}".rstrip("_")
