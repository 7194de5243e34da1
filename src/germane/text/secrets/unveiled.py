"""Unveiled: a text without what may stand inside a secret and hide it: invisible characters, other widths, inline markup."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from germane.text.normal import normalised

__all__ = ["Unveiled", "unveiled"]

_INVISIBLE = "\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f"
_HIDES = re.compile(f"[{_INVISIBLE}\u2010-\u2012\u2212\uff01-\uff5e\U0001d400-\U0001d7ff]")
_DROPPED = re.compile(
    f"[{_INVISIBLE}]++"
    r"|(?<=[\w=:+/.-])</?(?:b|i|u|s|em|strong|span|code|mark|wbr|font|a|tt|kbd)(?: [^<>]{0,80})?/?>(?=[\w<=:+/.-])"
)
_NARROW = (
    dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2212), "-")
    | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code - 0xFEE0) not in "!?,;()'\""}
    | {code: folded for code in range(0x1D400, 0x1D800) if (folded := normalised(chr(code), "NFKC")).isascii()}
)


class Unveiled:
    """`text` is the text without its veil; `place` says where one of its characters stands in the original."""

    def __init__(self, text: str, starts: Sequence[int], originals: Sequence[int]) -> None:
        self.text, self._starts, self._originals = text, starts, originals

    def place(self, index: int) -> int:
        """Returns the index in the original of the character at `index`."""
        run = bisect_right(self._starts, index) - 1
        return self._originals[run] + index - self._starts[run]


def unveiled(text: str) -> Unveiled | None:
    """Returns the text without its veil, None where nothing is hidden. Takes linear time."""
    wide = not text.isascii() and _HIDES.search(text) is not None
    if not wide and "</" not in text:
        return None
    kept, starts, originals, size, begin = list[str](), [0], [0], 0, 0
    for match in _DROPPED.finditer(text):
        kept.append(text[begin : match.start()])
        size += match.start() - begin
        begin = match.end()
        starts.append(size)
        originals.append(begin)
    if not wide and len(starts) == 1:
        return None
    kept.append(text[begin:])
    plain = "".join(kept)
    return Unveiled(plain.translate(_NARROW) if wide else plain, starts, originals)
