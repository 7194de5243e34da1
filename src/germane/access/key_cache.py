"""Known: the keys that the store vouched for lately, in memory. It says what was known and since when; what that is worth is
decided where it is asked for."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from germane.access.key import Key

__all__ = ["KeyCache"]


@dataclass(slots=True)
class _Entry:
    key: Key
    confirmed: float


class KeyCache:
    """By the digest of the token, so that memory holds no token; bounded, the one used least lately goes first. Only good keys
    are kept: a flood of bad ones displaces nothing, and a key that has just been made works at once."""

    def __init__(self, most: int = 4096) -> None:
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._most = most

    def learn(self, digest: bytes, key: Key, *, asked: float) -> None:
        """The store said so; it was `asked` at this moment of a steady clock, in seconds: the answer is as old as that."""
        self._entries[digest] = _Entry(key, asked)
        self._entries.move_to_end(digest)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def recall(self, digest: bytes, *, now: datetime, since: float) -> Key | None:
        """The key, if it was confirmed after `since` of the steady clock and holds at `now`: an end that is known is kept to
        without asking."""
        entry = self._entries.get(digest)
        if entry is None or entry.confirmed <= since or not entry.key.holds(now):
            return None
        self._entries.move_to_end(digest)
        return entry.key

    def drop(self, digest: bytes) -> None:
        self._entries.pop(digest, None)

    def forget(self, id: str) -> None:
        """It has been changed: what was known of this key holds no longer."""
        for digest in [digest for digest, entry in self._entries.items() if entry.key.id == id]:
            del self._entries[digest]

    def __len__(self) -> int:
        return len(self._entries)
