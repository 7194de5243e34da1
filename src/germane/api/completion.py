"""Completion: in the background, completes what search still lacks of the texts that an opened store holds."""

from __future__ import annotations

import asyncio

from germane.errors import GermaneError
from germane.store import Store

__all__ = ["Completion"]


class Completion:
    """Divides long texts that an earlier version stored undivided, and makes vectors that a killed process left to be made.
    What is interrupted goes on when the store is opened again."""

    def __init__(self, store: Store) -> None:
        """Starts at once on the running event loop."""
        self._task = asyncio.get_running_loop().create_task(_complete(store))

    async def close(self) -> None:
        """Stops. Idempotent."""
        self._task.cancel()
        await asyncio.wait([self._task])


async def _complete(store: Store) -> None:
    try:
        await store.embed_pending()
    except GermaneError:
        return
