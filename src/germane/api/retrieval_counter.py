"""Retrievals: counts of what was injected, written in batches after the answers (MEM-5)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from germane.memories.feedback import count_retrievals
from germane.store import Store
from germane.types.scope import Scope

__all__ = ["Retrievals"]

_PAUSE = 1.0
"""Seconds over which counts are collected."""
_MOST = 10_000
"""Counts that wait at most; what comes while a store doesn't write isn't counted."""
_CLOSING = 5.0
"""Seconds that closing waits for a store that doesn't write."""


class Retrievals:
    """A lost batch costs some counts, nothing else: a store that fails is passed over, one that hangs holds one task."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[Scope, list[str]] = defaultdict(list)
        self._held = 0
        self._writing: asyncio.Task[None] | None = None
        self._pausing = False

    def note(self, scope: Scope, ids: Sequence[str]) -> None:
        """Raises nothing: there is an answer to be given."""
        try:
            if not ids or self._held + len(ids) > _MOST or self._store.read_only:
                return
        except Exception:
            return
        self._waiting[scope].extend(ids)
        self._held += len(ids)
        if self._writing is None:
            self._pausing = True
            self._writing = asyncio.create_task(self._later())

    async def flush(self) -> None:
        """Write what has been noted, now. Raises nothing of the store's."""
        waiting, self._waiting, self._held = self._waiting, defaultdict(list), 0
        for scope, ids in waiting.items():
            try:
                await self._store.within(scope).journal.commit(count_retrievals(ids))
            except Exception:
                continue

    async def close(self) -> None:
        """What waits is written, unless the store hangs."""
        writing = self._writing
        if writing is not None:
            if self._pausing:
                writing.cancel()
            await asyncio.wait([writing], timeout=_CLOSING)
        last = asyncio.ensure_future(self.flush()) if writing is None or writing.done() else writing
        await asyncio.wait([last], timeout=_CLOSING)
        last.cancel()

    async def _later(self) -> None:
        try:
            while self._waiting:
                self._pausing = True
                try:
                    await asyncio.sleep(_PAUSE)
                finally:
                    self._pausing = False
                await self.flush()
        finally:
            self._writing = None
