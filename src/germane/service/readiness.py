"""Readiness: whether load balancers should send calls to this process; its event loop's lag and watchdog.

A process that isn't ready still answers the calls that it gets.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from threading import Event, Thread, get_ident
from typing import Literal

from germane.service.logs import Logs
from germane.service.redaction import places

Reason = Literal["starting", "stopping", "store_not_answering", "loop_lag", "saturated"]


class Readiness:
    """Combines the state of store, event loop and ports.

    `run` calls `probe` every `interval` seconds, one call at a time, so that health checks never query the store themselves. A
    probe that raises, or takes longer than `timeout` seconds, means that the store doesn't answer. `loop_ok` says whether the
    event loop keeps up, `saturated` whether a port refuses calls.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[object]],
        *,
        loop_ok: Callable[[], bool] = lambda: True,
        saturated: Callable[[], bool] = lambda: False,
        interval: float = 1.0,
        timeout: float = 1.0,
    ) -> None:
        self._probe, self._loop_ok, self._saturated = probe, loop_ok, saturated
        self._interval, self._timeout = interval, timeout
        self._store_answers: bool | None = None
        self._stopping = False

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every reason why the process isn't ready; empty when it is."""
        reasons: list[Reason] = []
        if self._stopping:
            reasons.append("stopping")
        if self._store_answers is None:
            reasons.append("starting")
        elif not self._store_answers:
            reasons.append("store_not_answering")
        if not self._loop_ok():
            reasons.append("loop_lag")
        if self._saturated():
            reasons.append("saturated")
        return tuple(reasons)

    @property
    def ready(self) -> bool:
        return not self.reasons

    def stop(self) -> None:
        """Makes the process not ready for good: new calls should go elsewhere while running calls end."""
        self._stopping = True

    async def run(self) -> None:
        """Probes the store until the task is cancelled."""
        probing: asyncio.Future[object] | None = None
        try:
            while True:
                if probing is None:
                    probing = asyncio.ensure_future(self._probe())
                    probing.add_done_callback(_consume_exception)
                await asyncio.wait([probing], timeout=self._timeout)
                if probing.done():
                    self._store_answers = not probing.cancelled() and probing.exception() is None
                    probing = None
                    await asyncio.sleep(self._interval)
                else:
                    self._store_answers = False
        finally:
            if probing is not None:
                probing.cancel()


def _consume_exception(future: asyncio.Future[object]) -> None:
    """Marks the exception as retrieved, or asyncio would log it."""
    if not future.cancelled():
        future.exception()


# How late the event loop runs its timers, and whether that is too late.


_TICK_SECONDS = 0.1
_KEPT_TICKS = 600
"""One minute."""


class Lag:
    """The lag of the latest ticks, in seconds.

    `ok` turns False after `over_limit` consecutive ticks above `max_lag`; a very late tick counts for all those that didn't
    happen in its time. `ok` turns True again after `recovery` consecutive ticks within `max_lag`.
    """

    def __init__(self, max_lag: float, *, over_limit: int = 3, recovery: int = 10) -> None:
        self._max_lag, self._over_limit, self._recovery = max_lag, over_limit, recovery
        self._ticks: deque[float] = deque(maxlen=_KEPT_TICKS)
        self._over = self._under = 0
        self.ok, self.last = True, 0.0

    def record(self, seconds: float) -> None:
        """Records the lag of one tick."""
        self.last = seconds
        self._ticks.append(seconds)
        if seconds > self._max_lag:
            self._over, self._under = self._over + 1 + int(seconds / _TICK_SECONDS), 0
        else:
            self._over, self._under = 0, self._under + 1
        if self._over >= self._over_limit:
            self.ok = False
        elif self._under >= self._recovery:
            self.ok = True

    @property
    def p99(self) -> float:
        """99th percentile of the last minute; 0 before the first tick."""
        ticks = sorted(self._ticks)
        return ticks[min(len(ticks) - 1, int(0.99 * len(ticks)))] if ticks else 0.0


class Heartbeat:
    """Calls `on_tick` ten times a second on the running loop with how many seconds late the tick is.

    `last_beat` is the time of the latest tick by `now`, a clock that other threads may read and that is more precise than the
    loop's own (uvloop's has milliseconds). The ticks are timers rather than a task, so nothing has to be awaited at the end.
    """

    def __init__(
        self,
        on_tick: Callable[[float], None],
        *,
        interval: float = _TICK_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_tick, self._interval, self._now = on_tick, interval, now
        self._loop = asyncio.get_running_loop()
        self._due = self.last_beat = now()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._schedule()

    def stop(self) -> None:
        """Cancels the next tick. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self) -> None:
        self._due = self._now() + self._interval
        self._timer = self._loop.call_later(self._interval, self._tick)

    def _tick(self) -> None:
        self.last_beat = self._now()
        late = max(0.0, self.last_beat - self._due)
        self._schedule()
        self._on_tick(late)


# A thread that logs where the event loop hangs, as files and lines without values.


class LoopWatchdog:
    """Watches the event loop of the thread that creates it.

    `last_beat` returns when the loop last ran, `now` the time on the same clock, both in seconds; the watchdog's thread calls
    both. A loop that hasn't run for `limit` seconds is logged once as `loop_blocked`, and once as `loop_free` when it runs
    again.
    """

    def __init__(self, logs: Logs, *, last_beat: Callable[[], float], now: Callable[[], float], limit: float = 1.0) -> None:
        self._logs, self._last_beat, self._now, self._limit = logs, last_beat, now, limit
        self._loop_thread = get_ident()
        self._blocked_since: float | None = None
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="germane-watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Waits for a check in progress, at most `limit` seconds."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(self._limit)

    def check(self) -> None:
        """Checks the loop once and logs a change."""
        beat, now = self._last_beat(), self._now()
        if self._blocked_since is None and now - beat > self._limit:
            self._blocked_since = beat
            frame = sys._current_frames().get(self._loop_thread)
            self._logs.error("loop_blocked", seconds=now - beat, stack=places(frame))
        elif self._blocked_since is not None and beat > self._blocked_since:
            self._logs.warning("loop_free", seconds=beat - self._blocked_since)
            self._blocked_since = None

    def _run(self) -> None:
        while not self._stopped.wait(self._limit / 4):
            self.check()
