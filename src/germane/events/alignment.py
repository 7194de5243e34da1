"""Alignment: compares a list of messages with a stored session: how much of its end, or of its beginning, the list begins with.

Pure arithmetic over arrays of message keys (equal keys mean equal messages) and times. Deliberately not a diff: stored messages
are never reordered or removed. Which of the two matches counts, and whether a match may be a repeat, `resent.py` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORGOTTEN", "UNTIMED", "MessageKeys", "common_beginning", "overlap"]

FORGOTTEN = -1
"""The key of a stored message that was forgotten: it matches any message."""
UNTIMED = np.iinfo(np.int64).min
"""The time of a message without a time of its own: it matches any time."""


@dataclass(frozen=True, slots=True)
class MessageKeys:
    """Messages in order, as two arrays of one length: their keys, and their times in milliseconds since the epoch."""

    keys: NDArray[np.int64]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, keys: Sequence[int], times: Sequence[int]) -> MessageKeys:
        return cls(np.array(keys, dtype=np.int64), np.array(times, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, part: slice) -> MessageKeys:
        return MessageKeys(self.keys[part], self.times[part])


def _fits(sent: MessageKeys, stored: MessageKeys) -> NDArray[np.bool_]:
    """Elementwise: whether the two may be the same message."""
    same = (sent.keys == stored.keys) | (stored.keys == FORGOTTEN)
    untimed = (sent.times == UNTIMED) | (stored.times == UNTIMED)
    return np.asarray(same & (untimed | (sent.times == stored.times)))


def common_beginning(sent: MessageKeys, stored: MessageKeys) -> int:
    """Returns the length of the common beginning, up to its last message that is still kept; 0 where fewer than two are."""
    length = min(len(sent), len(stored))
    fits = _fits(sent[:length], stored[:length])
    length = length if fits.all() else int(np.argmin(fits))
    there = np.flatnonzero(stored.keys[:length] != FORGOTTEN)
    return int(there[-1]) + 1 if len(there) >= 2 else 0


def overlap(sent: MessageKeys, stored: MessageKeys) -> int:
    """Returns the length of the longest end of `stored` that `sent` begins with and of which a message is still kept.

    The longest candidate is compared as a whole. The place where it fails last (counted from the end) is then checked in all
    other candidates at once, which leaves few of them: so the work stays near linear even where most messages are alike.
    """
    there = np.flatnonzero(stored.keys != FORGOTTEN)
    if not len(there):
        return 0
    shortest = len(stored) - int(there[-1])
    lengths = np.arange(min(len(sent), len(stored)), shortest - 1, -1)
    from_end = shortest
    while len(lengths):
        shorter = lengths < from_end
        index = np.where(shorter, 0, lengths - from_end)
        one = stored[len(stored) - from_end : len(stored) - from_end + 1]
        lengths = lengths[shorter | _fits(MessageKeys(sent.keys[index], sent.times[index]), one)]
        if not len(lengths):
            break
        length = int(lengths[0])
        fits = _fits(sent[:length], stored[len(stored) - length :])
        if fits.all():
            return length
        from_end = length - int(np.flatnonzero(~fits)[-1])
    return 0
