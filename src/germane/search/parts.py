"""Parts: cuts a long text into the parts that are searched, each of which has a search row of its own.

A message of a million characters has one answer somewhere. As one document of BM25 and one vector, its words count for nothing;
as parts of some thousand characters it is found, scored and shown like a conversation of that length. A part ends at a blank
line, else at the end of a line, of a sentence or of a word, where one stands in its second half.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from germane.types.candidate import LONG

__all__ = ["PART", "Part", "parts"]

PART = 2_048
"""Bytes of UTF-8 that a part has at most; the last one has up to half as many more. Some 400 tokens: in longer parts one
sentence counts for little, in shorter ones its surroundings are missing."""
_ENDS = (
    (b"\n\n",),
    (b"\n",),
    (b". ", b"! ", b"? ", "。".encode(), "！".encode(), "？".encode(), "؟ ".encode(), "। ".encode()),
    (b" ", b"\t", "\u3000".encode(), "、".encode(), "，".encode()),
)


class Part(NamedTuple):
    """Bytes `start` to `stop` of a text's UTF-8. A text that isn't long has one part, whose `stop` is 0: the whole."""

    text: str
    start: int = 0
    stop: int = 0


def parts(text: str) -> tuple[Part, ...]:
    """Returns the parts in order, without gaps, in time linear in the text's length. No character is torn."""
    if len(text) <= LONG // 4:
        return (Part(text),)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= LONG:
        return (Part(text),)
    cuts = [0]
    while len(data) - cuts[-1] > PART * 3 // 2:
        cuts.append(_end(data, cuts[-1] + PART // 2, cuts[-1] + PART))
    cuts.append(len(data))
    return tuple(Part(data[start:stop].decode("utf-8", "surrogatepass"), start, stop) for start, stop in pairwise(cuts))


def _end(data: bytes, low: int, high: int) -> int:
    """Returns the best place between `low` and `high` for a part to end."""
    for ends in _ENDS:
        if (last := max(data.rfind(end, low, high) + len(end) for end in ends)) > low:
            return last
    while data[high] & 0xC0 == 0x80:
        high -= 1
    return high
