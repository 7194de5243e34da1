"""Category: the order of the sections, and a category as part of a tag's name (FORMAT-1)."""

from __future__ import annotations

import re
from functools import lru_cache

from germane.compaction.shown_line import OUTLINE
from germane.text.normal import normalised
from germane.text.templates import neutralise

__all__ = ["ACTIVITY", "BLOCKS", "CONVERSATION", "DOCUMENTS", "OUTLINE", "TALK", "TASKS", "rank", "tag"]

ACTIVITY, CONVERSATION = "activity", "conversation"
DOCUMENTS = "document"
"""The category of passages of documents, whose title says where they stand."""
_ORDER = ("instruction", "about", "procedural", "factual", "preference", "behavioral", "episodic")
_ODD = re.compile(r"[^a-z0-9]+")
_MAX_TAG = 40
"""Characters of a tag."""
_MAX_READ = 512
"""Characters of a category that are looked at."""

TASKS = "task"
"""The frames of the task stack, which come right after the blocks."""
BLOCKS = -1
"""The rank of memory blocks, which come first."""
TALK = len(_ORDER) + 1
"""The rank of what happened, of what was said and of outlines, which come last and stand by time."""


def rank(name: str) -> int:
    """The category's place in the order of sections. Other categories share one rank, after the known ones and before
    activity, conversation and outline; the caller sorts them by name."""
    if name in (ACTIVITY, CONVERSATION, OUTLINE):
        return TALK
    if name == TASKS:
        return BLOCKS
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


@lru_cache(maxsize=256)
def tag(category: str, nonce: str) -> str:
    """The category as part of a tag's name: lowercase ASCII letters, digits and underscores, beginning with a letter, without
    the nonce."""
    plain = normalised(category[:_MAX_READ], "NFKD").encode("ascii", "ignore").decode().lower()
    name = _ODD.sub("_", plain).replace(nonce, "_").strip("_")[:_MAX_TAG].rstrip("_")
    if name in _ORDER:
        return name
    forms = f"## {name}", f"<{name}_memories>"  # a chat template's heading and token else
    said = name[:1].isalpha() and all(neutralise(form) == form for form in forms)
    return name if said else f"other_{name}".rstrip("_")
