"""Key reads: what a store answers and changes about API keys, and its own secret (RPC-5).

Keys belong to no scope: a caller's scope follows from its key. They are never exported; a backup holds them as they are stored.
They aren't content: changes to them raise no revision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from germane.kinds.keys.value import Key, StoredKey
from germane.types.plan import StoreChange, StoreRead


@dataclass(frozen=True, slots=True)
class KeyById(StoreRead[StoredKey | None]):
    """The key with this id as stored now, whatever its state; None where there is none."""

    quick: ClassVar[bool] = True
    id: str


@dataclass(frozen=True, slots=True)
class ListKeys(StoreRead[tuple[Key, ...]]):
    """All keys, or those of one org, oldest first."""

    org: str | None = None


@dataclass(frozen=True, slots=True)
class NonceKey(StoreRead[bytes]):
    """32 secret bytes that are made once per store and never exported (FORMAT-4)."""


@dataclass(frozen=True, slots=True)
class AddKey(StoreChange):
    """Inserts a key. Where its id exists already, the commit raises `Conflict` and nothing of the plan is written."""

    stored: StoredKey


@dataclass(frozen=True, slots=True)
class ChangeKey(StoreChange):
    """Replaces the properties of the key with this id; its digest stays. Does nothing where there is no such key."""

    key: Key
