"""CachedTokenizer: wraps a tokenizer with a bounded, lock-free cache of counts (BUD-2)."""

from __future__ import annotations

from hashlib import blake2b

from germane.ports.tokenizer import Tokenizer

__all__ = ["CachedTokenizer"]

_SHORT = 512
"""Characters up to which a text is its own cache key; a longer text's key is its digest."""

Key = str | bytes


class CachedTokenizer:
    """Caches the counts of `base`.

    The cache approximates an LRU by two generations. A hit in the old generation copies the entry to the young one; when the
    young one is full, it becomes the old one, and the former old one is dropped. Unlike `LruCache` it needs no lock, since each
    step is one dict operation: at worst two threads count the same text. Each generation holds at most `entries` counts and
    `chars` characters of keys.
    """

    __slots__ = ("_base", "_chars", "_entries", "_old", "_young", "_young_chars")

    def __init__(self, base: Tokenizer, *, entries: int = 32_768, chars: int = 4_000_000) -> None:
        self._base = base
        self._entries, self._chars = entries, chars
        self._young: dict[Key, int] = {}
        self._old: dict[Key, int] = {}
        self._young_chars = 0

    @property
    def name(self) -> str:
        return self._base.name

    @property
    def exact(self) -> bool:
        return self._base.exact

    def count(self, text: str) -> int:
        key = text if len(text) <= _SHORT else _digest(text)
        count = self._young.get(key)
        if count is None and (count := self._find(key)) is None:
            count = self._base.count(text)
            self._keep(key, count)
        return count

    def known(self, text: str) -> int | None:
        """Returns the count on a cache hit, else None."""
        return self._find(text if len(text) <= _SHORT else _digest(text))

    def ceiling(self, text: str) -> int:
        return self._base.ceiling(text)

    def _find(self, key: Key) -> int | None:
        count = self._young.get(key)
        if count is None and (count := self._old.get(key)) is not None:
            self._keep(key, count)
        return count

    def _keep(self, key: Key, count: int) -> None:
        if len(self._young) >= self._entries or self._young_chars >= self._chars:
            self._old, self._young, self._young_chars = self._young, {}, 0
        self._young[key] = count
        self._young_chars += len(key)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def __repr__(self) -> str:
        return f"<CachedTokenizer {self._base!r}>"


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
