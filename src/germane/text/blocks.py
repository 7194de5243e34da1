"""Blocks: splits a long text into parts, so that no single step over it blocks other threads for long.

A step implemented in C holds the interpreter lock until it is done: normalising a million characters takes some 40 ms, a block
about a millisecond.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

__all__ = ["BLOCK", "blocks"]

BLOCK = 16_384
"""Maximum characters of a block."""
_SEARCHED = 256
"""Characters before the end of a block that are searched for a good place to cut."""


def blocks(text: str, size: int = BLOCK) -> Iterator[str]:
    """Yields `text` in parts of at most `size` characters; a text of at most `BLOCK` characters is yielded whole.

    A part begins with white space if there is some nearby, else with an ASCII character, else with a character that isn't a
    combining mark. So the normal forms of the parts, joined, are the normal form of the text.
    """
    start, length = 0, len(text)
    if length <= BLOCK:
        yield text
        return
    while start < length:
        end = length if length - start <= size else _cut(text, start + size)
        yield text[start:end]
        start = end


def _cut(text: str, end: int) -> int:
    first = end - _SEARCHED
    space = max(text.rfind(" ", first, end), text.rfind("\n", first, end))
    if space > first:
        return space
    for index in range(end - 1, first, -1):
        if text[index].isascii():
            return index
    for index in range(end - 1, first, -1):
        if not unicodedata.category(text[index]).startswith("M") and not "\u1160" <= text[index] <= "\u11ff":
            return index
    return end
