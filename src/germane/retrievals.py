"""Retrievals: counts of what was injected, written in batches after the answers (MEM-5)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from germane.memories.feedback import count_retrievals
from germane.scope import Scope
from germane.shelf import Store

__all__ = ["Retrievals"]

_PAUSE = 1.0
"""Seconds over which counts are collected."""


class Retrievals:
    """A lost batch costs some counts, nothing else: a store that fails is passed over."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[Scope, list[str]] = defaultdict(list)
        self._flushing: asyncio.Task[None] | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def note(self, scope: Scope, ids: Sequence[str]) -> None:
        try:
            if not ids or self._store.read_only:
                return
        except Exception:  # a store that can't even tell: there is an answer to be given
            return
        self._waiting[scope].extend(ids)
        if self._flushing is None:
            self._flushing = task = asyncio.create_task(self._later())
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    async def flush(self) -> None:
        """Write what has been noted, now. Raises nothing of the store's."""
        waiting, self._waiting = self._waiting, defaultdict(list)
        for scope, ids in waiting.items():
            try:
                await self._store.within(scope).journal.commit(count_retrievals(ids))
            except Exception:
                continue

    async def close(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)
        await self.flush()

    async def _later(self) -> None:
        try:
            await asyncio.sleep(_PAUSE)
        finally:
            self._flushing = None
        await self.flush()
