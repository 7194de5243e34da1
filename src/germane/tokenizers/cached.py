"""Counts remembered by content (BUD-2)."""

from __future__ import annotations

from hashlib import blake2b

from germane.ports.tokenizer import Tokenizer

__all__ = ["CachedTokenizer"]

_SHORT = 512
"""Characters up to which a text is its own key; longer ones are kept by digest."""

Key = str | bytes


class CachedTokenizer:
    """A tokenizer that remembers what it has counted, in bounded memory.

    Least-recently-used in two generations: what is asked for again moves to the young one; when that is full it becomes the
    old one and the former old one is dropped. Each step is one dict operation, so threads need no lock: at worst two of them
    count the same text. At most `entries` counts and `chars` characters of keys are held in each generation.
    """

    __slots__ = ("_base", "_chars", "_entries", "_held", "_old", "_young")

    def __init__(self, base: Tokenizer, *, entries: int = 32_768, chars: int = 4_000_000) -> None:
        self._base = base
        self._entries, self._chars = entries, chars
        self._young: dict[Key, int] = {}
        self._old: dict[Key, int] = {}
        self._held = 0

    @property
    def name(self) -> str:
        return self._base.name

    @property
    def exact(self) -> bool:
        return self._base.exact

    def count(self, text: str) -> int:
        key = text if len(text) <= _SHORT else _digest(text)
        known = self._young.get(key)
        if known is None and (known := self._find(key)) is None:
            known = self._base.count(text)
            self._keep(key, known)
        return known

    def known(self, text: str) -> int | None:
        """The count, if it is remembered."""
        return self._find(text if len(text) <= _SHORT else _digest(text))

    def ceiling(self, text: str) -> int:
        return self._base.ceiling(text)

    def _find(self, key: Key) -> int | None:
        known = self._young.get(key)
        if known is None and (known := self._old.get(key)) is not None:
            self._keep(key, known)
        return known

    def _keep(self, key: Key, count: int) -> None:
        if len(self._young) >= self._entries or self._held >= self._chars:
            self._old, self._young, self._held = self._young, {}, 0
        self._young[key] = count
        self._held += len(key)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def __repr__(self) -> str:
        return f"<CachedTokenizer {self._base!r}>"


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
