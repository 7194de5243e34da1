"""Lag: measures how late the event loop runs its timers, and decides whether that is too late."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

__all__ = ["Heartbeat", "Lag"]

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
