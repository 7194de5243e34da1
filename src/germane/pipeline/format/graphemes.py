"""Graphemes: finds where text may be cut without splitting what a reader sees as one character.

Approximates the extended grapheme clusters of Unicode (UAX #29) with the standard library's data: combining marks, joiner
sequences, flags, Hangul syllables and Indic conjuncts stay whole. Where it differs from UAX #29, it keeps more together, never
less.
"""

from __future__ import annotations

import unicodedata

__all__ = ["clip", "floor"]

_JOINERS = "\u200c\u200d"
_VIRAMA = 9
_MAX_CLUSTER = 64
"""Characters: a longer cluster is split."""


def floor(text: str, index: int, start: int = 0) -> int:
    """The last index at or before `index` where `text` may be cut. `start` is an earlier such index: the text before it isn't
    looked at, so that cutting a text piece by piece reads each character once."""
    if index >= len(text):
        return len(text)
    cut, stop = max(index, start), max(index - _MAX_CLUSTER, start)
    while cut > stop and _holds(text, cut, start):
        cut -= 1
    return cut if cut > stop or stop == start else index


def clip(text: str, limit: int, marker: str = "…") -> str:
    """At most `limit` graphemes of the text; where it was cut, `marker` is the last of them."""
    if len(text) <= limit:
        return text
    starts, count = [0], 1
    for index in range(1, len(text)):
        if not _holds(text, index, starts[-1]) or index - starts[-1] > _MAX_CLUSTER:
            count += 1
            if count > limit:
                return text[: starts[-1]].rstrip() + marker
            starts.append(index)
    return text


def _holds(text: str, index: int, start: int) -> bool:
    """Whether the characters before and after `index` belong to one grapheme; `start` is an earlier index where `text` may be
    cut."""
    after, before = text[index], text[index - 1]
    if after.isascii():
        return before == "\r" and after == "\n"
    if after in _JOINERS or unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U000e0020" <= after <= "\U000e007f" or before == "\u200d":
        return True
    if unicodedata.combining(before) == _VIRAMA:
        return after.isalpha()
    if _flag(after) and _flag(before):
        return (index - _flags_from(text, index, start)) % 2 == 1
    return _syllable(before, after)


def _flag(char: str) -> bool:
    """Whether this is a regional indicator: two of them are a flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_from(text: str, index: int, start: int) -> int:
    """Where the run of flag letters before `index` begins."""
    while index > start and _flag(text[index - 1]):
        index -= 1
    return index


def _syllable(before: str, after: str) -> bool:
    """Whether these are Hangul jamo of one syllable."""
    if "\u1160" <= after <= "\u11ff":
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return "\u1100" <= after <= "\u115f" and "\u1100" <= before <= "\u115f"
