"""SizedLru: values of which the least recently used are evicted where all together are too large."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

__all__ = ["SizedLru"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
