"""Key store: the protocol of where keys are kept. It stands beside the scoped stores: who shows a key has no scope
yet."""

from __future__ import annotations

from typing import Protocol, TypeVar

from germane.access.key import Key, StoredKey
from germane.types.plan import Plan

__all__ = ["KeyStore"]

T = TypeVar("T")


class KeyStore(Protocol):
    """Every store has one. What it does neither counts as content nor moves a revision."""

    async def find(self, id: str) -> StoredKey | None:
        """The key with this id as the store has it now, whatever its state. One small read, off the event loop."""

    async def list(self, org: str | None = None) -> tuple[Key, ...]:
        """All keys, or those of one org, oldest first."""

    async def commit(self, plan: Plan[T]) -> T:
        """The plan's outcome; what it decided is durable. Raises `StoreUnavailable` where nothing can be written."""
