"""Unforged: marks a line of content that looks like a line of germane's own."""

from __future__ import annotations

import re

from germane.text.normal import normalised

__all__ = ["unforged"]

_MAX_HEAD = 24
"""Characters at the start of a line that are checked."""


def unforged(line: str, forged: re.Pattern[str], signs: str = "[#") -> str:
    """The line; with a dot before it where `forged` matches its beginning, as its indentation may be of any white space and
    isn't enough to tell it apart. A match begins with one of `signs`."""
    bare = line.lstrip()
    if bare[:1].isascii() and bare[:1] not in signs:
        return line
    head = normalised(bare[:_MAX_HEAD], "NFKC").lstrip()
    return f"· {bare}" if forged.match(head) else line
