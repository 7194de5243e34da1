"""Written: how the place of a word is written: in a block of code, in a heading, in bold, or in a line of capitalised words.

Models write headings and lists in Title Case, where a capital says nothing, and code names a hundred things by the way.
"""

from __future__ import annotations

import re
from bisect import bisect_right

__all__ = ["Written"]

_FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{2,}+")
_DEFINES = re.compile(r"\b(?:def|class|function|fn|func|fun|struct|enum|trait|interface|type|module|in) $")
_AROUND = 200
"""Characters on either side of a word that are read of its line."""
_MARKS = ("#", "=", "|")


class Written:
    """Says of a place in a text how it is written. Each question takes bounded time, apart from the first search for fences."""

    __slots__ = ("_fences", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = [fence.start() for fence in _FENCE.finditer(text)] if "```" in text or "~~~" in text else []

    def in_code(self, place: int) -> bool:
        """Returns whether a fenced block of code holds the place."""
        return bool(self._fences) and bisect_right(self._fences, place) % 2 == 1

    def defined(self, place: int) -> bool:
        """Returns whether the name at the place is defined there, as behind `class`, or is where a traceback says it is."""
        return _DEFINES.search(self._text, max(0, place - 12), place) is not None

    def as_title(self, place: int) -> bool:
        """Returns whether a capital at the place says nothing: in code, a heading, bold, a placeholder, or a line in which
        most words have one."""
        if self.in_code(place):
            return True
        text = self._text
        start = max(text.rfind("\n", max(0, place - _AROUND), place) + 1, place - _AROUND)
        before = text[start:place]
        if before.lstrip().startswith(_MARKS) or before.count("**") % 2 or before[-1:] == "[":
            return True
        end = text.find("\n", place, place + _AROUND)
        words = _WORD.findall(text[start : end if end >= 0 else place + _AROUND])
        return len(words) > 4 and sum(word[0].isupper() for word in words) > 0.7 * len(words)
