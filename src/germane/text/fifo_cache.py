"""FifoCache: a dict of bounded size. What was put in first goes first, one entry at a time.

Emptying a large dict at once holds the interpreter for tens of milliseconds, in the middle of somebody's answer.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import TypeVar

__all__ = ["FifoCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class FifoCache(dict[K, V]):
    """Filled by `keep` alone. Threads may share it: at worst two of them make the same entry."""

    def __init__(self, max_entries: int) -> None:
        super().__init__()
        self._max_entries = max_entries
        self._ring: list[K | None] = [None] * max_entries
        self._count = count()

    def keep(self, key: K, value: V) -> None:
        """Adds an entry, in the place of the oldest where the cache is full."""
        if key not in self:
            place = next(self._count) % self._max_entries
            oldest, self._ring[place] = self._ring[place], key
            if oldest is not None:
                self.pop(oldest, None)
        self[key] = value
