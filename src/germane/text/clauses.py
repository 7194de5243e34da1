"""Clauses: cuts a text into the pieces that a prompt shows alone: short sentences whole, longer ones where a clause begins.

The cuts are those of a reader in a hurry: behind a comma, before "but" or "because". In text without spaces a space is a stop.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain

from germane.text.sentences import sentences

__all__ = ["Span", "clauses"]

Span = tuple[int, int]
"""The place of a clause in its text, in characters: start and end."""
_MOST, _LEAST = 140, 25
"""Characters of a clause that is cut from a longer sentence."""
_LEAST_STOPPED = 8
_MOST_WIDE, _LEAST_WIDE = 44, 8
"""The same in scripts whose characters are words or syllables."""
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WIDE_SHARE = 0.3
_JOINING = (
    "and|but|so|because|cause|since|though|und|aber|weil|denn|sondern|y|pero|porque|xq|aunque|et|mais|car|parce|donc|e|ma|perché"
    "|mas|pois|en|maar|want|omdat|och|men|eftersom|i|ale|bo|więc|и|но|а|потому|ve|ama|çünkü"
)
_STOP = re.compile(r"(?<=[^\W\d_][^\W\d_][^\W\d_])[.!?…]{1,8}+(?= )|(?<=\d)[.!?…]{1,8}+(?= [^\W\d_])|(?<![!?])[!?]{1,8}+(?= )")
"""A full stop before a space. People who write without capitals end sentences so; an abbreviation of three letters may too."""
_CUT = re.compile(rf"[,;:](?= )|[，、；：]| (?=[-–—] )| (?=(?:{_JOINING}) )|(?<=[\u3040-\u30ff\u3400-\u9fff]) ")
"""Ends where a clause may end."""


def clauses(text: str) -> list[Span]:
    """Returns the clauses of a text in order, without the space around them; none overlap, and what holds no
    letter or digit isn't one. Linear."""
    found = list[Span]()
    for start, end in chain.from_iterable(_stopped(text, *sentence) for sentence in sentences(text)):
        for first, last in _pieces(text, start, end):
            piece = text[first:last]
            first += len(piece) - len(piece.lstrip())
            last -= len(piece) - len(piece.rstrip())
            if not any(map(str.isalnum, text[first:last])):
                continue
            if found and _belongs(text, *found[-1], first, last):
                first = found.pop()[0]
            found.append((first, last))
    return found


def _belongs(text: str, start: int, end: int, first: int, last: int) -> bool:
    """Whether the clause before is one word of the same line, as in "Felixstowe. That's my Mondays now"."""
    before, between = text[start:end], text[end:first]
    return " " not in before and between == " " and last - start <= _MOST and _WIDE.search(before) is None


def _stopped(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentence cut at full stops that no capital follows."""
    for stop in _STOP.finditer(text, start, end):
        if stop.end() - start >= _LEAST_STOPPED and end - stop.end() >= _LEAST_STOPPED:
            yield start, stop.end()
            start = stop.end()
    yield start, end


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentence whole, or in pieces that are short enough: each ends at the last place where one may, else at a space."""
    most, least = _limits(text, start, end)
    if end - start <= most:
        yield start, end
        return
    cuts = [found.end() for found in _CUT.finditer(text, start, end)]
    while end - start > most:
        index = bisect_right(cuts, min(start + most, end - least)) - 1
        stop = cuts[index] if index >= 0 and cuts[index] >= start + least else 0
        if not stop:
            space = text.rfind(" ", start + least, start + most)
            stop = space + 1 if space >= 0 else start + most
        yield start, stop
        start = stop
    yield start, end


def _limits(text: str, start: int, end: int) -> tuple[int, int]:
    if text.isascii():
        return _MOST, _LEAST
    wide = sum(1 for _ in _WIDE.finditer(text, start, end))
    return (_MOST_WIDE, _LEAST_WIDE) if wide > _WIDE_SHARE * (end - start) else (_MOST, _LEAST)
