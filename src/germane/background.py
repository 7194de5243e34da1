"""Background: work of a thread that nobody waits for at once, done in the gaps that assemblies leave.

Threads share one interpreter lock. A thread that computes without a pause makes every other wait for it, some milliseconds each
time that one comes back from the file or from a sleep; an assembly does so a dozen times. So work in the background is done in
small steps, and between two of them the thread rests while an assembly is under way.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Breath"]

_WORK = 0.0005
"""Seconds of work between two rests."""
_REST = 0.00005
"""Seconds of a rest when nothing else is going on. To sleep for no time at all isn't enough: the lock would be taken again
before another thread has woken."""
_LOOK = 0.001
_LONGEST = 0.010
"""Seconds that the thread stands back for assemblies, looking again each millisecond; then it goes on even so."""


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
