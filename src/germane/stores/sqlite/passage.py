"""Passage: reads the part of a long stored text that a request can use, without reading the rest from the file."""

from __future__ import annotations

from codecs import utf_8_decode
from collections.abc import Sequence
from typing import NamedTuple

import apsw

from germane.types.candidate import PassageRange

__all__ = ["PASSAGE", "Passage", "passage"]

PASSAGE = 4_096
"""Characters of a passage at most: some 1,000 tokens of English."""
_BYTES = 3 * PASSAGE // 2
"""Bytes of a passage at most: characters of more bytes take more tokens, and more time to write."""
_MIN_READ, _MAX_READ, _READ_FRACTION = 8 * PASSAGE, 32 * PASSAGE, 0.06
"""Bytes read around the place where the query's words stand: 6 % of the text, since its terms tell the place only to some per
cent, within these bounds."""
_MARK = "…"
_EDGE = 64


class Passage(NamedTuple):
    text: str
    passage: PassageRange


def passage(connection: apsw.Connection, key: int, size: int, *, at: float = 0.0, words: Sequence[str] = ()) -> Passage:
    """Returns at most `PASSAGE` characters of the text of event `key`, which has `size` bytes: near the fraction `at` of the
    text, where most of `words` (case-folded) stand. An ellipsis marks where the text was cut."""
    reach = min(size, max(_MIN_READ, min(_MAX_READ, int(_READ_FRACTION * size))))
    first = min(max(0, int(at * size) - reach // 2), size - reach)
    with connection.blob_open("main", "events", "text", key, False) as blob:
        blob.seek(first)
        data = blob.read(reach)
    torn = next((place for place, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    text, _ = utf_8_decode(data[torn:], "surrogatepass", False)
    return _cut(text, first + torn, size, int((at * size - first - torn) / max(1, len(data)) * len(text)), words)


def _cut(text: str, offset: int, size: int, middle: int, words: Sequence[str]) -> Passage:
    """Returns the best part of `text`, which begins at byte `offset` of the stored text: the part with most of the words, and
    of equal parts the one nearest to `middle`."""
    low = text.casefold() if words else ""
    whole = len(text.encode("utf-8", "surrogatepass"))
    width = max(1, min(PASSAGE, _BYTES * len(text) // max(1, whole)))
    last = max(0, len(text) - width)

    def worth(start: int) -> tuple[int, int]:
        matched = sum(low.find(word, start, start + width) >= 0 for word in words)
        return matched, -abs(start + width // 2 - middle)

    start = max((*range(0, last, max(1, width // 4)), last), key=worth)
    matches = worth(start)[0]
    if offset + start:
        start = _border(text, start, start + _EDGE)
    part, taken = utf_8_decode(text[start : start + width].encode("utf-8", "surrogatepass")[:_BYTES], "surrogatepass", False)
    begin = offset + len(text[:start].encode("utf-8", "surrogatepass"))
    stop = begin + taken
    shown = f"{_MARK * (begin > 0)}{part}{_MARK * (stop < size)}"
    return Passage(shown, PassageRange(begin, stop, size, matches))


def _border(text: str, start: int, limit: int) -> int:
    """Returns the beginning of the next word before `limit`, or `start` where there is none."""
    return next((place + 1 for place in range(start, min(limit, len(text))) if text[place].isspace()), start)
