"""Background: work that nobody waits for at once, done in the gaps that assemblies leave.

Threads share one interpreter lock. A thread that computes without a pause makes every other wait for it, some milliseconds each
time that one comes back from the file or from a sleep; an assembly does so a dozen times. So work in the background is done in
small steps, one piece of work at a time, and between two steps it stands back while an assembly is under way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

__all__ = ["Background", "Breath"]

T = TypeVar("T")

_WORK = 0.0005
"""Seconds of work between two rests."""
_REST = 0.00005
"""Seconds of a rest when nothing else is going on. To sleep for no time at all isn't enough: the lock would be taken again
before another thread has woken."""
_STEP = "a step"
_LOOK = 0.001
_LONGEST = 0.010
"""Seconds that work stands back for assemblies, looking again each millisecond; then it goes on even so."""


class Breath:
    """To be called between two steps of background work, in its thread. `busy` tells whether an assembly is under way. The
    clock is one that threads can read: event loops have their own."""

    def __init__(
        self,
        busy: Callable[[], bool],
        *,
        steady: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._busy, self._steady, self._sleep = busy, steady, sleep
        self._rested = steady()

    def __call__(self) -> None:
        now = self._steady()
        if now - self._rested < _WORK:
            return
        self._sleep(_REST)
        while self._busy() and self._steady() - now < _LONGEST:
            self._sleep(_LOOK)
        self._rested = self._steady()


class Background:
    """One thread, and on each event loop one step at a time. To be closed."""

    def __init__(self, busy: Callable[[], bool]) -> None:
        self.breath = Breath(busy)
        self._busy = busy
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="germane-background")
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns, in the thread. It should call `breath` between its steps."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def alone(self, key: Hashable) -> asyncio.Lock:
        """A lock for all that has this key, on the running event loop."""
        whose = asyncio.get_running_loop(), key
        lock = self._locks.get(whose)
        if lock is None:
            lock = self._locks[whose] = asyncio.Lock()
        return lock

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        """Around a step on the event loop, or in the store's writer: entered when no other step is being done on this loop, and
        no assembly is under way or ten milliseconds have passed."""
        loop = asyncio.get_running_loop()
        async with self.alone(_STEP):
            await asyncio.sleep(0)
            until = loop.time() + _LONGEST
            while self._busy() and loop.time() < until:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK)
            yield

    def close(self) -> None:
        """Waits for the thread's end. Idempotent."""
        self._thread.shutdown()
