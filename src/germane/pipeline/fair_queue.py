"""Fair queue: first in, first out for each key, and the keys in turn (round robin), so that no key holds up the others."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["FairQueue"]

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Hashable)


class FairQueue(Generic[K, T]):
    """Each item once. `put`, `pop` and `remove` take constant time; `ahead` is linear in the keys. Not thread-safe."""

    def __init__(self) -> None:
        self._lines: OrderedDict[K, OrderedDict[T, None]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, key: K, item: T) -> None:
        self._lines.setdefault(key, OrderedDict())[item] = None
        self._length += 1

    def pop(self) -> tuple[K, T]:
        """The next item and its key; the key's other items wait until every other key has had one. Raises `KeyError`."""
        key, line = self._lines.popitem(last=False)
        item, _ = line.popitem(last=False)
        self._length -= 1
        if line:
            self._lines[key] = line
        return key, item

    def remove(self, key: K, item: T) -> bool:
        """Takes the item out of the queue. Returns whether it was there."""
        line = self._lines.get(key)
        if line is None or item not in line:
            return False
        del line[item]
        self._length -= 1
        if not line:
            del self._lines[key]
        return True

    def newest(self, key: K) -> T | None:
        """The item of this key that was put last, None where none waits."""
        line = self._lines.get(key)
        return next(reversed(line)) if line else None

    def ahead(self, key: K) -> Counter[K]:
        """How many items of each key would be popped before a new one of `key`."""
        own = len(self._lines.get(key, ()))
        found: Counter[K] = Counter()
        seen = False
        for other, line in self._lines.items():
            seen = seen or other == key
            found[other] = own if other == key else min(len(line), own if seen and own else own + 1)
        return found
