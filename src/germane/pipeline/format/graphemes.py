"""Graphemes: where text may be cut without tearing what a reader sees as one character.

A small reading of Unicode's extended grapheme clusters from what the standard library knows: combining marks, joiner
sequences, flags, Hangul syllables and Indic conjuncts stay whole. Not a full implementation of UAX #29: where in doubt it
keeps more together, never less.
"""

from __future__ import annotations

import unicodedata

__all__ = ["clip", "floor"]

_JOINERS = "\u200c\u200d"
_VIRAMA = 9
_LONGEST = 64
"""A cluster is torn rather than followed further than this."""


def floor(text: str, index: int, start: int = 0) -> int:
    """The last place at or before `index` where `text` may be cut. `start` is such a place before `index`: what stands before
    it isn't looked at, so that whoever cuts piece after piece reads each once."""
    if index >= len(text):
        return len(text)
    at, stop = max(index, start), max(index - _LONGEST, start)
    while at > stop and _holds(text, at, start):
        at -= 1
    return at if at > stop or stop == start else index


def clip(text: str, limit: int, marker: str = "…") -> str:
    """At most `limit` graphemes, `marker` being the last of them where something was cut."""
    if len(text) <= limit:
        return text
    starts, count = [0], 1
    for at in range(1, len(text)):
        if not _holds(text, at, starts[-1]) or at - starts[-1] > _LONGEST:
            count += 1
            if count > limit:
                return text[: starts[-1]].rstrip() + marker
            starts.append(at)
    return text


def _holds(text: str, at: int, start: int) -> bool:
    """Whether the characters before and after `at` belong together, as `text` may be cut at `start`."""
    after, before = text[at], text[at - 1]
    if after.isascii():
        return before == "\r" and after == "\n"
    if after in _JOINERS or unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U000e0020" <= after <= "\U000e007f" or before == "\u200d":
        return True
    if unicodedata.combining(before) == _VIRAMA:
        return after.isalpha()
    if _flag(after) and _flag(before):
        return (at - _flags_from(text, at, start)) % 2 == 1
    return _syllable(before, after)


def _flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_from(text: str, at: int, start: int) -> int:
    """Where the row of flags before `at` begins."""
    while at > start and _flag(text[at - 1]):
        at -= 1
    return at


def _syllable(before: str, after: str) -> bool:
    """Hangul jamo that make one syllable."""
    if "\u1160" <= after <= "\u11ff":
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return "\u1100" <= after <= "\u115f" and "\u1100" <= before <= "\u115f"
