"""FifoCache: a dict of bounded size that evicts its oldest entry first; lock-free, for hot paths shared by threads.

It differs from `LruCache` in that a hit changes nothing: a look-up is the plain dict's own, threads need no lock, and no order
has to be maintained. It evicts one entry at a time, because clearing a large dict at once blocks the interpreter for tens of
milliseconds in the middle of an answer.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import TypeVar

__all__ = ["FifoCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class FifoCache(dict[K, V]):
    """A dict that is filled by `keep` alone. Thread-safe: at worst two threads compute the same entry."""

    def __init__(self, max_entries: int) -> None:
        super().__init__()
        self._max_entries = max_entries
        self._ring: list[K | None] = [None] * max_entries
        self._count = count()

    def keep(self, key: K, value: V) -> None:
        """Adds an entry; a full cache evicts its oldest one."""
        if key not in self:
            index = next(self._count) % self._max_entries
            oldest, self._ring[index] = self._ring[index], key
            if oldest is not None:
                self.pop(oldest, None)
        self[key] = value
