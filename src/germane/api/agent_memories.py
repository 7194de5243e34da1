"""Agent memories: reading and correcting single memories, as `agent.memories`."""

from __future__ import annotations

from typing import Any

from germane.api.arguments import normalise_filters, number, optional
from germane.clock import Clock
from germane.errors import NotFound
from germane.memories.memory import Memory
from germane.memories.reader import Page
from germane.memories.update import update
from germane.store import ScopedStore
from germane.text.secrets.screen import SecretPolicy
from germane.types.limits import CURSOR, ID, PAGE
from germane.types.limits import text as string
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["Recollections"]


class Recollections:
    """The memories of one scope."""

    def __init__(self, store: ScopedStore, scope: Scope, clock: Clock, secrets: SecretPolicy) -> None:
        self._store, self._scope, self._clock, self._secrets = store, scope, clock, secrets

    async def get(self, id: str) -> Memory:
        """Returns one memory. Raises `NotFound`, also for a memory of another scope (SCOPE-3)."""
        found = await self._store.memories.get([string("id", id, ID)])
        if not found:
            raise NotFound(f"no memory {id!r} here")
        return found[0]

    async def list(self, filters: Filters | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        """Returns a page of `limit` (1 to 1,000) memories, newest first; its `cursor` asks for the next page. Without `filters`
        every sensitivity is listed. Raises `InvalidInput`."""
        number("limit", limit, minimum=1, maximum=PAGE.maximum)
        optional("cursor", cursor, CURSOR)
        chosen = normalise_filters(filters, self._scope.zone) or Filters(sensitivities=("public", "private", "sensitive"))
        return await self._store.memories.list(chosen, at=self._clock.now(), limit=limit, cursor=cursor)

    async def update(self, id: str, text: str | None = None, **changes: Any) -> Memory:
        """Changes fields of a memory and returns it. Raises `NotFound`, and `InvalidInput` for fields that its kind doesn't
        have."""
        at = self._clock.now()
        plan = update(string("id", id, ID), changes, text=text, at=at, scope=self._scope, secrets=self._secrets)
        return await self._store.journal.commit(plan)

    async def history(self, id: str) -> tuple[Memory, ...]:
        """Returns the memory with everything that superseded it or that it superseded, oldest first. Raises `NotFound`."""
        found = await self._store.memories.history(string("id", id, ID))
        if not found:
            raise NotFound(f"no memory {id!r} here")
        return found
