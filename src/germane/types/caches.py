"""Caches: dicts of bounded size, which evict the least recently used entries or the oldest.

`LruCache` evicts its least recently used entries, `SizedLru` those where all together are too large. A hit in `FifoCache`
changes nothing, so threads need no lock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from itertools import count
from typing import Generic, TypeVar

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


class SizedLru(Generic[K, V]):
    """Values by key, each with the size that it was last given; the unit is the owner's. Sizes are added up as they change, so
    that no call but `evict` looks at more than one value. It has no lock of its own: where several threads use it, the owner
    holds one around each call."""

    __slots__ = ("_held", "_limit", "size")

    def __init__(self, limit: int) -> None:
        self._held: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._limit = limit
        self.size = 0
        """The sum of all sizes."""

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[K]:
        """The keys, the least recently used first."""
        return iter(self._held)

    def get(self, key: K) -> V | None:
        """The value, which stays where it is in the order."""
        held = self._held.get(key)
        return None if held is None else held[0]

    def use(self, key: K) -> V | None:
        """The value, which becomes the most recently used."""
        if key in self._held:
            self._held.move_to_end(key)
        return self.get(key)

    def put(self, key: K, value: V, size: int = 0) -> None:
        """Adds or replaces a value, which becomes the most recently used. Evicts nothing."""
        self.pop(key)
        self._held[key] = value, size
        self.size += size

    def resize(self, key: K, size: int) -> None:
        """Gives a value that is held another size."""
        value, before = self._held[key]
        self._held[key] = value, size
        self.size += size - before

    def pop(self, key: K) -> V | None:
        """Removes the value and returns it."""
        held = self._held.pop(key, None)
        if held is None:
            return None
        self.size -= held[1]
        return held[0]

    def clear(self) -> None:
        self._held.clear()
        self.size = 0

    def evict(self, stays: Callable[[K, V], bool] = lambda _, __: False) -> None:
        """Evicts the least recently used values until the limit is met, except those for which `stays` is true. Looks no
        further than the last that goes."""
        excess, evicted = self.size - self._limit, list[K]()
        for key, (value, size) in self._held.items():
            if excess <= 0:
                break
            if not stays(key, value):
                excess -= size
                evicted.append(key)
        for key in evicted:
            self.pop(key)


# A lock-free cache for hot paths shared by threads: a look-up is the plain dict's own, and no order has to be
# maintained. It evicts one entry at a time, because clearing a large dict at once blocks the interpreter for tens of
# milliseconds in the middle of an answer.


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
