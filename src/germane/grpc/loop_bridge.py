"""Apart: an event loop of its own for the port, in a thread beside the one where the engine works.

gRPC takes one new call in a few turns of its loop, and a turn of a loop that assembles lasts milliseconds: on one loop, calls
wait unseen before anybody can refuse them, and no time-out ends while something computes. So the port has a loop that does
nothing but take calls, read, write and look at the clock; what asks the store crosses over to the engine's.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

__all__ = ["LoopBridge"]

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]

_SWITCH = 0.0005
"""Seconds after which the interpreter lets another thread go on. Its usual 5 ms are what a call may cost in all."""
_BATCH = 64
"""Items of a stream that cross at once."""


class LoopBridge:
    """Made on the engine's loop, and of the same kind. From `open` to `close` there is a thread."""

    def __init__(self) -> None:
        self._home = asyncio.get_running_loop()
        self._apart: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._thread: Thread | None = None

    async def open(self) -> None:
        """Besides, the whole process changes threads more often from now on."""
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH))
        opened: asyncio.Future[None] = self._home.create_future()
        self._thread = Thread(target=self._run, args=(opened,), name="germane-grpc", daemon=True)
        self._thread.start()
        await opened

    async def close(self) -> None:
        """What still runs there is cancelled."""
        if self._thread is None or self._apart is None or self._ending is None:
            return
        with suppress(RuntimeError):
            self._apart.call_soon_threadsafe(self._ending.set)
        await asyncio.to_thread(self._thread.join)
        self._thread = None

    async def there(self, work: Work[T]) -> T:
        """From the engine's loop: done on the port's."""
        assert self._apart is not None
        return await _on(self._apart, work)

    async def home(self, work: Work[T]) -> T:
        """From the port's loop: done on the engine's. Cancelled, it returns at once, and what runs there is cancelled too."""
        return await _on(self._home, work)

    async def stream(self, answers: Callable[[], AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
        """The same for what answers bit by bit, no faster than it is asked for."""
        found = answers()
        try:
            while True:
                batch = await self.home(lambda: _batch(found))
                for one in batch:
                    yield one
                if len(batch) < _BATCH:
                    return
        finally:
            asyncio.run_coroutine_threadsafe(_closed(found), self._home)

    def _run(self, opened: asyncio.Future[None]) -> None:
        async def live() -> None:
            self._apart, self._ending = asyncio.get_running_loop(), asyncio.Event()
            self._home.call_soon_threadsafe(opened.set_result, None)
            await self._ending.wait()

        with asyncio.Runner(loop_factory=type(self._home)) as runner:
            runner.run(live())


async def _on(loop: asyncio.AbstractEventLoop, work: Work[T]) -> T:
    value, error = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_caught(work), loop))
    if error is not None:
        raise error
    return value


async def _caught(work: Work[T]) -> tuple[T, None] | tuple[Any, Exception]:
    """Errors as values: nobody asks any more for that of a task whose caller has gone, and it would be logged with its text."""
    try:
        return await work(), None
    except Exception as error:
        return None, error


async def _batch(found: AsyncGenerator[T, None]) -> list[T]:
    batch: list[T] = []
    async for one in found:
        batch.append(one)
        if len(batch) == _BATCH:
            break
    return batch


async def _closed(found: AsyncGenerator[Any, None]) -> None:
    with suppress(Exception):
        await found.aclose()
