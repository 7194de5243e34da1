"""Places: a small number of them, for calls that need no key. When one more comes, the oldest has to go: a call that holds a
place and does nothing can't keep others out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Ousted", "Places"]


class Ousted(Exception):
    """Another needed the place."""


class Places:
    """`most` of them. For one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: dict[asyncio.Timeout, None] = {}

    def __len__(self) -> int:
        return len(self._taken)

    @asynccontextmanager
    async def place(self, seconds: float) -> AsyncIterator[None]:
        """A place for the block. What the block waits for ends with `TimeoutError` after so many seconds, and with `Ousted`
        when another needs the place."""
        ousted = False
        try:
            async with asyncio.timeout(seconds) as mine:
                self._make_room()
                self._taken[mine] = None
                try:
                    yield
                finally:
                    ousted = mine not in self._taken
                    self._taken.pop(mine, None)
        except TimeoutError:
            if ousted:
                raise Ousted from None
            raise

    def _make_room(self) -> None:
        while len(self._taken) >= self._most:
            oldest = next(iter(self._taken))
            del self._taken[oldest]
            if not oldest.expired():
                oldest.reschedule(asyncio.get_running_loop().time())
