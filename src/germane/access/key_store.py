"""Key store: the protocol of a store's API keys, which belong to no scope: a caller's scope follows from its key."""

from __future__ import annotations

from typing import Protocol, TypeVar

from germane.access.key import Key, StoredKey
from germane.types.plan import Plan

__all__ = ["KeyStore"]

T = TypeVar("T")


class KeyStore(Protocol):
    """Every `Store` has one, as `keys`. Keys aren't content: changes to them raise no revision."""

    async def find(self, id: str) -> StoredKey | None:
        """Returns the key with this id as stored now, whatever its state; None where there is none. One small read outside the
        event loop."""

    async def list(self, org: str | None = None) -> tuple[Key, ...]:
        """Returns all keys, or those of one org, oldest first."""

    async def commit(self, plan: Plan[T]) -> T:
        """Runs the plan in one transaction and returns its outcome once its changes are durable. Raises what the plan raises,
        and `StoreUnavailable` where nothing can be written."""
