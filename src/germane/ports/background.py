"""Background: work that no caller waits for, done in small steps between the assemblies.

Threads share one interpreter lock. A thread that computes without a pause makes every other thread wait for some milliseconds,
each time that thread comes back from the file or from a sleep; an assembly does so a dozen times. So background work is done in
small steps, one at a time, and between two steps it pauses while an assembly is at work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from germane.types.limits import INLINE_MESSAGES

T = TypeVar("T")

_MIN_WORK = 0.0005
"""Seconds of work between two pauses."""
_PAUSE = 0.00005
"""Seconds of a pause while no assembly is at work. A sleep of zero isn't enough: the thread would take the interpreter lock
again before another thread has woken."""
_STEP_LOCK = "a step"
_POLL = 0.001
"""Seconds between two looks whether an assembly is still at work."""
_MAX_PAUSE = 0.010
"""Seconds after which background work goes on although an assembly is at work."""


class Throttle:
    """A pause between two steps of background work, in its thread. `busy` tells whether an assembly is at work; `quiet` is how
    many seconds of work go between two pauses while none is. `steady` is a clock that threads can read, in seconds."""

    def __init__(
        self,
        busy: Callable[[], bool],
        *,
        quiet: float = _MIN_WORK,
        steady: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._busy, self._quiet, self._steady, self._sleep = busy, quiet, steady, sleep
        self._rested = steady()

    def __call__(self) -> None:
        now = self._steady()
        worked = now - self._rested
        if worked < _MIN_WORK or (worked < self._quiet and not self._busy()):
            return
        self._sleep(_PAUSE)
        while self._busy() and self._steady() - now < _MAX_PAUSE:
            self._sleep(_POLL)
        self._rested = self._steady()


class Background:
    """One thread, and one step at a time on each event loop. The owner closes it."""

    def __init__(self, busy: Callable[[], bool]) -> None:
        self.breath = Throttle(busy)
        self._busy = busy
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="germane-background")
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def run(self, work: Callable[[], T]) -> T:
        """Runs `work` in the thread and returns its result. `work` should call `breath` between its steps."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def alone(self, key: Hashable) -> asyncio.Lock:
        """The lock of this key on the running event loop. It is dropped when nobody holds it any more."""
        loop_key = asyncio.get_running_loop(), key
        lock = self._locks.get(loop_key)
        if lock is None:
            lock = self._locks[loop_key] = asyncio.Lock()
        return lock

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        """Around one step on the event loop, or in the store's writer. Waits until this loop does no other step, and until no
        assembly is at work or 10 ms have passed."""
        loop = asyncio.get_running_loop()
        async with self.alone(_STEP_LOCK):
            await asyncio.sleep(0)
            until = loop.time() + _MAX_PAUSE
            while self._busy() and loop.time() < until:  # noqa: ASYNC110
                await asyncio.sleep(_POLL)
            yield

    def close(self) -> None:
        """Waits for the thread to end. Idempotent."""
        self._thread.shutdown()


async def aside(items: int, work: Callable[[], T], many: int = INLINE_MESSAGES) -> T:
    """Returns what `work`, which computes and never waits, makes of so many items. More than `many` are worked on in a thread
    of their own, which needn't wait for any other work: nobody else waits on the event loop, and where no thread can be
    started, everybody does."""
    if items <= many:
        return work()
    thread = ThreadPoolExecutor(1, thread_name_prefix="germane-aside")
    try:
        working = asyncio.get_running_loop().run_in_executor(thread, work)
    except RuntimeError:
        return work()
    finally:
        thread.shutdown(wait=False)
    return await working
