"""Private text: what a person puts between `<private>` and `</private>` is never stored and never searched with.

The tags may be nested and in any case. What stands behind a tag that is never closed is private to the text's end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TAG = re.compile(r"<(/?)private>", re.IGNORECASE)
_MAX_DEPTH = 200


def without_private(text: str) -> str:
    """Returns the text without what is private; the same text where nothing is. Linear."""
    if "<" not in text:
        return text
    kept, depth, end, found = list[str](), 0, 0, False
    for tag in _TAG.finditer(text):
        closing = bool(tag[1])
        if closing and not depth:
            continue
        found = True
        if not depth:
            kept.append(text[end : tag.start()])
        depth += -1 if closing else 1
        end = tag.end()
    if not found:
        return text
    if not depth:
        kept.append(text[end:])
    return "".join(kept)


def without_private_in(value: Any, depth: int = 0) -> Any:
    """Returns JSON in which no text has anything private; the same object where nothing changes. What lies deeper than 200
    levels becomes None."""
    if isinstance(value, str):
        return without_private(value)
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        made = {key: without_private_in(one, depth + 1) for key, one in value.items()}
        return made if any(made[key] is not one for key, one in value.items()) else value
    if isinstance(value, list | tuple):
        listed = [without_private_in(one, depth + 1) for one in value]
        return listed if any(new is not old for new, old in zip(listed, value, strict=True)) else value
    return value
