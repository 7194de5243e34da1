"""Time warp: an event loop whose clock jumps to the next timer as soon as nothing else is left to do.

Sleeps, time-outs and deadlines become exact and take no time, so a test can say "after 40 ms" and mean it. It is for
collaborators in memory. Work given to a thread through `run_in_executor` or `asyncio.to_thread` is known to be under way and
is waited for without the clock moving; threads that report back by other means are unknown here: give them `grace`.
Sockets work, but the clock jumps past whatever they are waiting for.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

__all__ = ["TimeWarpLoop", "run", "warped"]

T = TypeVar("T")
P = ParamSpec("P")

_PATIENCE = 2.0


class TimeWarpLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 0 and moves in jumps, in whole nanoseconds.

    `grace` is how many real seconds to listen for other threads before each jump. `patience` is how many real seconds work in
    a thread may hold the clock; after that it moves on, as it would past a thread that hangs. Where every task waits and
    there is no timer to jump to, the loop raises `RuntimeError` when its patience ends instead of hanging.
    """

    def __init__(self, *, grace: float = 0.0, patience: float = _PATIENCE) -> None:
        self._now = 0.0
        self._under_way: set[object] = set()
        self._grace, self._patience = grace, patience
        super().__init__(_Selector(self._idle))

    def time(self) -> float:
        return self._now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Waits for the threads without the clock moving, whatever the time-out."""
        joining = object()
        self._under_way.add(joining)
        try:
            await super().shutdown_default_executor()
        finally:
            self._under_way.discard(joining)

    def _idle(self, timeout: float | None, listen: Callable[[float], _Ready]) -> _Ready:
        """Nothing is ready: hear from threads first, then jump by `timeout`, which is up to the next timer."""
        wait = self._patience if self._under_way or timeout is None else self._grace
        if wait > 0 and (ready := _listened(listen, wait)):
            return ready
        self._under_way.clear()  # they had their time; from here on the clock moves without them
        if timeout is None:
            raise RuntimeError("every task waits for something that never comes: no timer is set and no thread reported back")
        self._now = round(self._now + timeout, 9)
        return []


_Ready = list[tuple[selectors.SelectorKey, int]]


class _Selector(selectors.DefaultSelector):
    """Never blocks by itself: with nothing ready it asks `idle` what to do."""

    def __init__(self, idle: Callable[[float | None, Callable[[float], _Ready]], _Ready]) -> None:
        super().__init__()
        self._idle = idle

    def select(self, timeout: float | None = None) -> _Ready:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        return self._idle(timeout, super().select)


def _listened(listen: Callable[[float], _Ready], seconds: float) -> _Ready:
    """What becomes ready within so many real seconds; a select that was interrupted by a signal starts again."""
    until = time.monotonic() + seconds
    ready: _Ready = []
    while not ready and (left := until - time.monotonic()) > 0:
        ready = listen(left)
    return ready


def run(main: Coroutine[Any, Any, T], *, grace: float = 0.0, patience: float = _PATIENCE) -> T:
    """`asyncio.run` on a loop that warps time."""
    with asyncio.Runner(loop_factory=lambda: TimeWarpLoop(grace=grace, patience=patience)) as runner:
        return runner.run(main)


def warped(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Decorates an async test: it runs in warped time. Its fixtures must not be async, for they'd run on another loop."""

    @functools.wraps(test)
    def blocking(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(test(*args, **kwargs))

    return blocking
