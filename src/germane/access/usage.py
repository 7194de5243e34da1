"""Uses: when keys were last used, written to the hour, in batches and after the answers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from datetime import datetime

from germane.access.key import Key
from germane.access.key_store import KeyStore
from germane.access.use import due, used

__all__ = ["Uses"]

_PAUSE = 1.0
"""Seconds over which uses are collected."""
_MOST = 4096
"""Keys of which it is remembered that their hour is noted."""


class Uses:
    """A lost batch leaves a time older than it is, nothing else: a store that fails is passed over."""

    def __init__(self, vault: KeyStore, *, read_only: bool) -> None:
        self._vault, self._read_only = vault, read_only
        self._noted: OrderedDict[str, datetime] = OrderedDict()
        self._waiting: dict[str, datetime] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, key: Key, at: datetime) -> None:
        """Costs a look into memory; what there is to write is written later."""
        if self._read_only or not (due(key.last_used_at, at) and due(self._noted.get(key.id), at)):
            return
        self._noted[key.id] = self._waiting[key.id] = at
        self._noted.move_to_end(key.id)
        if len(self._noted) > _MOST:
            self._noted.popitem(last=False)
        if self._writing is None:
            self._writing = asyncio.create_task(self._later())

    async def flush(self) -> None:
        """Write what has been noted, now. Raises nothing of the store's."""
        waiting, self._waiting = self._waiting, {}
        if waiting:
            try:
                await self._vault.commit(used(waiting))
            except Exception:
                return

    async def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self.flush()

    async def _later(self) -> None:
        """One at a time: while a store hangs, what comes waits with what came before."""
        try:
            while True:
                await asyncio.sleep(_PAUSE)
                await self.flush()
                if not self._waiting:
                    break
        finally:
            self._writing = None
