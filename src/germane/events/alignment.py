"""Alignment: which messages of a list were said before, by comparing it with the end of what is stored.

Pure arithmetic over arrays of keys (equal numbers, equal messages) and times. Deliberately not a diff: stored messages are
never reordered or taken back, and what can't be told apart from something new is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["GONE", "UNTIMED", "Line", "aligned"]

GONE = -1
"""The key of a stored message that was forgotten: it may have been any."""
UNTIMED = np.iinfo(np.int64).min
"""The time of a message that nobody gave one: it fits any."""


@dataclass(frozen=True, slots=True)
class Line:
    """Messages in order: what they are, and when they were said in milliseconds."""

    keys: NDArray[np.int64]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, keys: Sequence[int], times: Sequence[int]) -> Line:
        return cls(np.array(keys, dtype=np.int64), np.array(times, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, part: slice) -> Line:
        return Line(self.keys[part], self.times[part])


def aligned(said: Line, stored: Line, *, whole: bool) -> int:
    """How many messages at the beginning of `said` are in `stored` already.

    Either `said` begins with the last messages stored (any number of them), or, where `stored` is the `whole` session, with
    at least two of its first. The reading that explains more wins; of equals the former.
    """
    tail = _overlap(said, stored)
    head = _common(said, stored) if whole else 0
    return max(head, tail)


def _fits(said: Line, stored: Line) -> NDArray[np.bool_]:
    """Elementwise: the same message, as far as one can know."""
    same = (said.keys == stored.keys) | (stored.keys == GONE)
    untimed = (said.times == UNTIMED) | (stored.times == UNTIMED)
    return np.asarray(same & (untimed | (said.times == stored.times)))


def _common(said: Line, stored: Line) -> int:
    """The length of the common beginning up to the last message of it that is still there; 0 with fewer than two of them."""
    length = min(len(said), len(stored))
    fits = _fits(said[:length], stored[:length])
    length = length if fits.all() else int(np.argmin(fits))
    there = np.flatnonzero(stored.keys[:length] != GONE)
    return int(there[-1]) + 1 if len(there) >= 2 else 0


def _overlap(said: Line, stored: Line) -> int:
    """The length of the longest end of `stored` that `said` begins with and of which something is still there.

    The longest candidate is compared whole; the place where it first fails (from the end) is then asked of all others at
    once, which leaves few of them, so that the work stays near linear even where most messages are alike.
    """
    there = np.flatnonzero(stored.keys != GONE)
    if not len(there):
        return 0
    shortest = len(stored) - int(there[-1])
    lengths = np.arange(min(len(said), len(stored)), shortest - 1, -1)
    places = [shortest]
    while len(lengths):
        for place in places:
            far = lengths < place
            at = np.where(far, 0, lengths - place)
            one = stored[len(stored) - place : len(stored) - place + 1]
            lengths = lengths[far | _fits(Line(said.keys[at], said.times[at]), one)]
        if not len(lengths):
            break
        length = int(lengths[0])
        fits = _fits(said[:length], stored[len(stored) - length :])
        if fits.all():
            return length
        places = [length - int(np.flatnonzero(~fits)[-1])]
    return 0
