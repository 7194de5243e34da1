"""Blocks: a long text in parts, so that no single step over it takes long and other threads get their turn in between.

Every step in C over a whole text keeps the interpreter's lock for as long as it takes: some 40 ms for a million characters that
have to be normalised. Over a block it is about a millisecond.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

__all__ = ["BLOCK", "blocks"]

BLOCK = 16_384
"""Characters of a block, at most."""
_NEAR = 256
"""Characters before the end of a block in which a better place to cut is looked for."""


def blocks(text: str, size: int = BLOCK) -> Iterator[str]:
    """`text` in parts of at most `size` characters: the text itself where it has at most `BLOCK`. A part begins with white
    space where there is some nearby, else with an ASCII character, else with no combining mark: so the normal form of the parts
    is that of the text."""
    start, length = 0, len(text)
    if length <= BLOCK:
        yield text
        return
    while start < length:
        end = length if length - start <= size else _cut(text, start + size)
        yield text[start:end]
        start = end


def _cut(text: str, end: int) -> int:
    first = end - _NEAR
    space = max(text.rfind(" ", first, end), text.rfind("\n", first, end))
    if space > first:
        return space
    for at in range(end - 1, first, -1):
        if text[at].isascii():
            return at
    for at in range(end - 1, first, -1):
        if not unicodedata.category(text[at]).startswith("M") and not "\u1160" <= text[at] <= "\u11ff":
            return at
    return end
