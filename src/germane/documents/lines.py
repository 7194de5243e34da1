"""Lines: the lines of a text with their places, and the numbers of lines at places."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Line", "blank_separated", "line_starts", "lines", "numbers"]


class Line(NamedTuple):
    """A line without its end, and the character at which it starts."""

    text: str
    start: int

    @property
    def stop(self) -> int:
        return self.start + len(self.text)

    @property
    def blank(self) -> bool:
        return not self.text or self.text.isspace()


def lines(text: str, start: int = 0) -> list[Line]:
    """Returns the lines of `text`, which ends its lines with a line feed only; `start` is the place of its first character."""
    found = list[Line]()
    for line in text.split("\n"):
        found.append(Line(line, start))
        start += len(line) + 1
    return found


def blank_separated(among: Sequence[Line]) -> list[Sequence[Line]]:
    """Returns the runs of lines without a blank line between them."""
    runs, begin = list[Sequence[Line]](), None
    for index, line in enumerate(among):
        if line.blank:
            if begin is not None:
                runs.append(among[begin:index])
            begin = None
        elif begin is None:
            begin = index
    if begin is not None:
        runs.append(among[begin:])
    return runs


def line_starts(text: str) -> list[int]:
    """Returns the place of each line's first character."""
    starts, at = [0], text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def numbers(starts: Sequence[int], start: int, stop: int) -> tuple[int, int]:
    """Returns the numbers, from 1, of the first and the last line of characters `start` to `stop`."""
    return bisect_right(starts, start), bisect_right(starts, max(start, stop - 1))
