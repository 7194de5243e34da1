"""Watchdog: a thread that logs where the event loop hangs, as files and lines without values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Event, Thread, get_ident

from germane.observe.failure import places
from germane.observe.logs import Logs

__all__ = ["LoopWatchdog"]


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
