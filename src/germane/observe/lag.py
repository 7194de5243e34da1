"""Lag: how late an event loop is, and whether it is too late to be of use. A timer, not a task: nothing to cancel."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

__all__ = ["Lag", "Pulse"]

_TICK = 0.1
_KEPT = 600
"""A minute of ticks."""


class Lag:
    """What the ticks said, in seconds. `fine` turns off after `several` ticks over `most` (a very late one counts for more),
    and on again after `recovered` that weren't: an outlier turns nothing off, a good moment nothing on."""

    def __init__(self, most: float, *, several: int = 3, recovered: int = 10) -> None:
        self._most, self._several, self._recovered = most, several, recovered
        self._seen: deque[float] = deque(maxlen=_KEPT)
        self._over = self._under = 0
        self.fine, self.last = True, 0.0

    def note(self, seconds: float) -> None:
        self.last = seconds
        self._seen.append(seconds)
        if seconds > self._most:
            self._over, self._under = self._over + 1 + int(seconds / _TICK), 0
        else:
            self._over, self._under = 0, self._under + 1
        if self._over >= self._several:
            self.fine = False
        elif self._under >= self._recovered:
            self.fine = True

    @property
    def p99(self) -> float:
        """Of the last minute; 0 before the first tick."""
        seen = sorted(self._seen)
        return seen[min(len(seen) - 1, int(0.99 * len(seen)))] if seen else 0.0


class Pulse:
    """Ten ticks a second on the running loop, each told how late it was. `beat` is when the latest was, by `now`: a clock that
    threads may read and that is finer than the loop's own may be (uvloop's counts milliseconds)."""

    def __init__(
        self, tell: Callable[[float], None], *, every: float = _TICK, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell, self._every, self._now = tell, every, now
        self._loop = asyncio.get_running_loop()
        self._due = self.beat = now()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._next()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _next(self) -> None:
        self._due = self._now() + self._every
        self._timer = self._loop.call_later(self._every, self._ticked)

    def _ticked(self) -> None:
        self.beat = self._now()
        late = max(0.0, self.beat - self._due)
        self._next()
        self._tell(late)
