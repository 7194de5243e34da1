"""Key cache: valid keys that the store confirmed lately, each with the moment of its confirmation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from germane.access.key import Key
from germane.types.lru_cache import LruCache

__all__ = ["KeyCache"]


@dataclass(slots=True)
class _Entry:
    key: Key
    confirmed: float


class KeyCache:
    """An LRU cache by the digest of the token, so that no token stays in memory. Only valid keys are cached: a flood of invalid
    tokens evicts nothing, and a key that was just made works at once. How old a confirmation may be is the caller's
    decision."""

    def __init__(self, max_entries: int = 4096) -> None:
        self._entries: LruCache[bytes, _Entry] = LruCache(max_entries)

    def learn(self, digest: bytes, key: Key, *, asked: float) -> None:
        """Adds a key that the store confirmed. `asked` is when the store was asked, in seconds of the steady clock: the
        confirmation counts from then."""
        self._entries.put(digest, _Entry(key, asked))

    def recall(self, digest: bytes, *, now: datetime, since: float) -> Key | None:
        """Returns the key where it was confirmed after `since` (seconds of the steady clock) and is valid at `now`, else
        None."""
        entry = self._entries.get(digest)
        if entry is None or entry.confirmed <= since or not entry.key.holds(now):
            return None
        self._entries.move_to_end(digest)
        return entry.key

    def drop(self, digest: bytes) -> None:
        """Removes the entry of this digest, if there is one."""
        self._entries.pop(digest, None)

    def forget(self, id: str) -> None:
        """Removes the entry of the key with this id, which was changed."""
        for digest in [digest for digest, entry in self._entries.items() if entry.key.id == id]:
            del self._entries[digest]

    def __len__(self) -> int:
        return len(self._entries)
