"""Places: a small number of them, for calls that need no key. When one more comes, the oldest has to go: a call that holds a
place and does nothing can't keep others out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Ousted", "Places"]


class Ousted(Exception):
    """Another needed the place."""


class Places:
    """`most` of them; where all are taken, the next waits `patience` seconds for one before the oldest has to go. For one event
    loop."""

    def __init__(self, most: int, *, patience: float = 0.0) -> None:
        self._most, self._patience = most, patience
        self._taken: dict[asyncio.Timeout, None] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._taken)

    @asynccontextmanager
    async def place(self, seconds: float) -> AsyncIterator[None]:
        """A place for the block. What the block waits for ends with `TimeoutError` after so many seconds, and with `Ousted`
        when another needs the place."""
        await self._turn()
        ousted = False
        try:
            async with asyncio.timeout(seconds) as mine:
                self._make_room()
                self._taken[mine] = None
                try:
                    yield
                finally:
                    ousted = mine not in self._taken
                    self._left(mine)
        except TimeoutError:
            if ousted:
                raise Ousted from None
            raise

    async def _turn(self) -> None:
        """Returns when there is a place, or no more patience."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience
        while len(self._taken) >= self._most and (left := until - loop.time()) > 0:
            turn: asyncio.Future[None] = loop.create_future()
            self._waiting.append(turn)
            try:
                await asyncio.wait([turn], timeout=left)
            finally:
                if not turn.done():
                    self._waiting.remove(turn)

    def _make_room(self) -> None:
        while len(self._taken) >= self._most:
            oldest = next(iter(self._taken))
            del self._taken[oldest]
            if not oldest.expired():
                oldest.reschedule(asyncio.get_running_loop().time())

    def _left(self, mine: asyncio.Timeout) -> None:
        """The next has its turn, unless the place was taken away: then somebody has it already."""
        if mine in self._taken:
            del self._taken[mine]
            if self._waiting:
                self._waiting.popleft().set_result(None)
