"""Passage: reads one part of a long stored text, without reading the rest from the file."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from germane.search.parts import PART
from germane.stores.sqlite.rows import first
from germane.types.candidate import PassageRange

__all__ = ["Passage", "part_text", "passage", "text_bytes"]

_OVERLAP = 256
"""Bytes that a passage reaches into the parts beside it: what is said across a border is shown whole."""
_MARK = "…"
_FIRST = "SELECT stop FROM units_parts WHERE key = ? AND part = 0"


class Passage(NamedTuple):
    text: str
    passage: PassageRange


def passage(connection: apsw.Connection, key: int, size: int, place: tuple[int, int] | None = None) -> Passage:
    """Returns the part at `place` (first byte and end) of the text of event `key`, which has `size` bytes; by default the first
    part. It begins and ends with a word where it can. An ellipsis marks where the text was cut."""
    start, stop = place or (0, 0)
    if not stop:
        indexed = first(connection, _FIRST, (key,))
        start, stop = 0, (indexed[0] if indexed else 0) or min(size, PART)
    begin, end = max(0, start - _OVERLAP), min(size, stop + _OVERLAP)
    data = text_bytes(connection, key, begin, end)
    low = _border(data, range(start - begin)) if begin else 0
    high = _border(data, range(len(data) - 1, stop - begin - 1, -1)) if end < size else len(data)
    text = data[low:high].decode("utf-8", "surrogatepass")
    shown = f"{_MARK * (begin + low > 0)}{text}{_MARK * (begin + high < size)}"
    return Passage(shown, PassageRange(begin + low, begin + high, size, found=place is not None and place[1] > 0))


def part_text(connection: apsw.Connection, key: int, start: int, stop: int) -> str:
    """Returns these bytes of the text of event `key`; no character may begin before `start` or end behind `stop`."""
    return text_bytes(connection, key, start, stop).decode("utf-8", "surrogatepass")


def text_bytes(connection: apsw.Connection, key: int, start: int, stop: int) -> bytes:
    """Returns the bytes of the text of event `key` from `start` to `stop`."""
    with connection.blob_open("main", "events", "text", key, False) as blob:
        blob.seek(start)
        data: bytes = blob.read(stop - start)
    return data


def _border(data: bytes, places: range) -> int:
    """Returns the first of these places that follows a space or a line's end; else the last place where no character is torn,
    which is the border of the part itself."""
    for place in places:
        if place and data[place - 1 : place] in (b" ", b"\n"):
            return place
    border = places.stop if places.step > 0 else places.stop + 1
    while border < len(data) and data[border] & 0xC0 == 0x80:
        border -= 1
    return border
