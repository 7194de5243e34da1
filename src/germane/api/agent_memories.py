"""Recollections: an agent's memories one by one, as `agent.memories`."""

from __future__ import annotations

from typing import Any

from germane.api.arguments import narrowed, number, optional
from germane.clock import Clock
from germane.errors import NotFound
from germane.memories.memory import Memory
from germane.memories.reader import Page
from germane.memories.update import update
from germane.store import ScopedStore
from germane.types.limits import CURSOR, ID, PAGE
from germane.types.limits import text as string
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["Recollections"]


class Recollections:
    def __init__(self, store: ScopedStore, scope: Scope, clock: Clock) -> None:
        self._store, self._scope, self._clock = store, scope, clock

    async def get(self, id: str) -> Memory:
        """Raises `NotFound`; what another scope has is not found either (SCOPE-3)."""
        found = await self._store.memories.get([string("id", id, ID)])
        if not found:
            raise NotFound(f"no memory {id!r} here")
        return found[0]

    async def list(self, filters: Filters | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        """Newest first, `limit` (1 to 1,000) a page; a page's `cursor` gives the next. Every sensitivity unless filtered."""
        number("limit", limit, least=1, most=PAGE.most)
        optional("cursor", cursor, CURSOR)
        chosen = narrowed(filters, self._scope.zone) or Filters(sensitivities=("public", "private", "sensitive"))
        return await self._store.memories.list(chosen, at=self._clock.now(), limit=limit, cursor=cursor)

    async def update(self, id: str, text: str | None = None, **changes: Any) -> Memory:
        """Change fields of a memory; those that don't fit its kind are refused. Raises `NotFound`, `InvalidInput`."""
        plan = update(string("id", id, ID), changes, text=text, at=self._clock.now(), scope=self._scope)
        return await self._store.journal.commit(plan)

    async def history(self, id: str) -> tuple[Memory, ...]:
        """The memory and all that superseded it or was superseded by it, oldest first. Raises `NotFound`."""
        found = await self._store.memories.history(string("id", id, ID))
        if not found:
            raise NotFound(f"no memory {id!r} here")
        return found
