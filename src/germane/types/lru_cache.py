"""LRU cache: a dict of bounded size that evicts its least recently used entries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

__all__ = ["LruCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(OrderedDict[K, V]):
    """An `OrderedDict`, least recently used first, that is filled by `put` alone. It has no lock of its own: where several
    threads use it, the owner holds one around each call."""

    def __init__(self, max_entries: int) -> None:
        """`max_entries` 0 keeps nothing."""
        super().__init__()
        self.max_entries = max_entries

    def put(self, key: K, value: V) -> None:
        """Adds or replaces an entry, which is then the most recently used, and evicts what is too much."""
        self[key] = value
        self.move_to_end(key)
        while len(self) > self.max_entries:
            self.popitem(last=False)

    def drop(self, gone: Callable[[K], bool]) -> None:
        """Drops the entries whose keys are `gone`."""
        for key in [key for key in self if gone(key)]:
            del self[key]

    def use(self, key: K) -> V | None:
        """Returns the value and makes it the most recently used; None where there is none. `get` leaves the order as it is."""
        if key not in self:
            return None
        self.move_to_end(key)
        return self[key]
