"""Time warp: an event loop for tests whose clock jumps to the next timer when no task can run; and clocks for tests.

Sleeps, time-outs and deadlines become exact and take no real time, so a test can assert on "after 40 ms". The loop is meant
for code in memory. It waits, without moving the clock, for threads started by `run_in_executor` or `asyncio.to_thread`. It
doesn't know of other threads: give them `grace`. Sockets work, but the clock jumps while they wait.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import time
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, ParamSpec, TypeVar

from germane.clock import Clock, aware

T = TypeVar("T")
P = ParamSpec("P")

_PATIENCE = 2.0


class TimeWarpLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` starts at 0 and moves in jumps, rounded to nanoseconds.

    `grace` is the time in real seconds to wait for other threads before each jump. `patience` is the time in real seconds that
    work in a thread may hold the clock; then the clock moves on, so that a hanging thread can't stop it. Where every task waits
    and no timer is set, the loop raises `RuntimeError` after `patience` instead of hanging.
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
        """Waits for the executor's threads without moving the clock; ignores `timeout`."""
        joining = object()
        self._under_way.add(joining)
        try:
            await super().shutdown_default_executor()
        finally:
            self._under_way.discard(joining)

    def _idle(self, timeout: float | None, listen: Callable[[float], _Ready]) -> _Ready:
        """Called when no task is ready: waits for threads, then moves the clock by `timeout`, the time to the next timer."""
        wait = self._patience if self._under_way or timeout is None else self._grace
        if wait > 0 and (ready := _select_until_ready(listen, wait)):
            return ready
        self._under_way.clear()  # their patience is used up: the clock doesn't wait for them again
        if timeout is None:
            raise RuntimeError("every task waits for something that never comes: no timer is set and no thread reported back")
        self._now = round(self._now + timeout, 9)
        return []


_Ready = list[tuple[selectors.SelectorKey, int]]


class _Selector(selectors.DefaultSelector):
    """A selector that never blocks: where nothing is ready it calls `idle`, which decides what to do."""

    def __init__(self, idle: Callable[[float | None, Callable[[float], _Ready]], _Ready]) -> None:
        super().__init__()
        self._idle = idle

    def select(self, timeout: float | None = None) -> _Ready:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        return self._idle(timeout, super().select)


def _select_until_ready(listen: Callable[[float], _Ready], seconds: float) -> _Ready:
    """Returns what becomes ready within `seconds` of real time. A select that a signal interrupts is repeated."""
    until = time.monotonic() + seconds
    ready: _Ready = []
    while not ready and (left := until - time.monotonic()) > 0:
        ready = listen(left)
    return ready


def run(main: Coroutine[Any, Any, T], *, grace: float = 0.0, patience: float = _PATIENCE) -> T:
    """Like `asyncio.run`, on a `TimeWarpLoop`."""
    with asyncio.Runner(loop_factory=lambda: TimeWarpLoop(grace=grace, patience=patience)) as runner:
        return runner.run(main)


def warped(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Decorator that runs an async test in warped time. The test's fixtures must be synchronous: async fixtures would run on
    another loop."""

    @functools.wraps(test)
    def blocking(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(test(*args, **kwargs))

    return blocking


# A calendar that doesn't move, and a clock that advances each time it is read.


def fixed(moment: datetime) -> Clock:
    """A clock whose calendar always shows `moment` (UTC where naive). Its `steady` is still that of the event loop."""
    still = aware(moment)
    return Clock(now=lambda: still)


class Ticking:
    """A clock that starts at `start` (UTC where naive) and advances by `step` each time `now` or `steady` is read.

    `steady` counts the seconds since `start`. With a step of zero only `advance` moves the clock.
    """

    def __init__(self, start: datetime, step: timedelta = timedelta(seconds=1)) -> None:
        self._start = self._moment = aware(start)
        self._step = step

    @property
    def clock(self) -> Clock:
        """The clock to pass to the code under test."""
        return Clock(now=self._now, steady=self._steady)

    def advance(self, by: timedelta) -> None:
        """Moves the clock forward by hand."""
        self._moment += by

    def _now(self) -> datetime:
        moment = self._moment
        self._moment += self._step
        return moment

    def _steady(self) -> float:
        return (self._now() - self._start).total_seconds()
