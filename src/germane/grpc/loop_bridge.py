"""Loop bridge: an event loop and thread for the port alone, and the way to run work on the engine's loop.

gRPC accepts one new call in a few turns of its loop, and a turn of a loop that assembles takes milliseconds. With one loop for
both, calls would wait before the port can refuse them, and no time-out would fire while something computes. So the port's loop
only accepts calls, reads, writes and watches the clock; all work that needs the store runs on the engine's loop.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, TypeVar

__all__ = ["LoopBridge"]

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]

_SWITCH_SECONDS = 0.0005
"""The interpreter's switch interval while a port is open. With the default of 5 ms one switch of threads could cost as much as
a whole call may take."""
_BATCH = 64
"""Items of a stream that cross between the loops at once."""


class _SwitchInterval:
    """The switch interval of the process, lowered while at least one bridge is open. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._original = self._lowered = 0.0

    def lower(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._original = sys.getswitchinterval()
                sys.setswitchinterval(min(self._original, _SWITCH_SECONDS))
                self._lowered = sys.getswitchinterval()

    def restore(self) -> None:
        """Restores the original value for the last user, unless somebody else has set another value meanwhile."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and sys.getswitchinterval() == self._lowered:
                sys.setswitchinterval(self._original)


_SWITCH_INTERVAL = _SwitchInterval()


class LoopBridge:
    """Made on the engine's loop. `open` starts the thread of the port's loop, which has the same type; `close` ends it.

    While a bridge is open, the switch interval of the whole process is lower.
    """

    def __init__(self) -> None:
        self._engine_loop = asyncio.get_running_loop()
        self._port_loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._thread: Thread | None = None
        self._lowers_interval = False

    async def open(self) -> None:
        """Starts the port's loop and returns when it runs."""
        opened: asyncio.Future[None] = self._engine_loop.create_future()
        self._thread = Thread(target=self._run, args=(opened,), name="germane-grpc", daemon=True)
        self._thread.start()
        await opened
        _SWITCH_INTERVAL.lower()
        self._lowers_interval = True

    async def close(self) -> None:
        """Cancels what still runs on the port's loop and ends its thread. Idempotent."""
        if self._thread is None or self._port_loop is None or self._ending is None:
            return
        with suppress(RuntimeError):
            self._port_loop.call_soon_threadsafe(self._ending.set)
        await asyncio.to_thread(self._thread.join)
        self._thread = None
        if self._lowers_interval:
            self._lowers_interval = False
            _SWITCH_INTERVAL.restore()

    async def on_port(self, work: Work[T]) -> T:
        """Called on the engine's loop: runs `work` on the port's and returns its result."""
        assert self._port_loop is not None
        return await _on(self._port_loop, work)

    async def on_engine(self, work: Work[T]) -> T:
        """Called on the port's loop: runs `work` on the engine's and returns its result. Cancelling it cancels the work and
        doesn't wait for that."""
        return await _on(self._engine_loop, work)

    async def stream(self, generate: Callable[[], AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
        """Called on the port's loop: yields the items of a generator that runs on the engine's loop, in batches that are
        fetched only when the consumer needs them."""
        items = generate()
        try:
            while True:
                batch = await self.on_engine(lambda: _next_batch(items))
                for item in batch:
                    yield item
                if len(batch) < _BATCH:
                    return
        finally:
            asyncio.run_coroutine_threadsafe(_close(items), self._engine_loop)

    def _run(self, opened: asyncio.Future[None]) -> None:
        async def live() -> None:
            self._port_loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
            self._engine_loop.call_soon_threadsafe(opened.set_result, None)
            await self._ending.wait()

        with asyncio.Runner(loop_factory=type(self._engine_loop)) as runner:
            runner.run(live())


async def _on(loop: asyncio.AbstractEventLoop, work: Work[T]) -> T:
    value, error = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_caught(work), loop))
    if error is None:
        return value
    try:
        raise error
    finally:
        del error  # its traceback holds this frame: else the two would wait for the garbage collector, with the request


async def _caught(work: Work[T]) -> tuple[T, None] | tuple[Any, Exception]:
    """Returns an error as a value: where the caller was cancelled, nobody retrieves the task's exception, and asyncio would log
    it with its text."""
    try:
        return await work(), None
    except Exception as error:
        return None, error


async def _next_batch(items: AsyncGenerator[T, None]) -> list[T]:
    batch: list[T] = []
    async for item in items:
        batch.append(item)
        if len(batch) == _BATCH:
            break
    return batch


async def _close(items: AsyncGenerator[Any, None]) -> None:
    with suppress(Exception):
        await items.aclose()
