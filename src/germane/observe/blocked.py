"""Blocked: a thread that notices when the event loop doesn't come round, and says where it hangs: files and lines, no more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Event, Thread, get_ident

from germane.observe.failure import places
from germane.observe.logs import Logs

__all__ = ["Blocked"]


class Blocked:
    """Made on the loop's own thread. `beat` answers when the loop was last alive, `now` the time on the same clock; both are
    called from another thread. Each hanging is told once when it has lasted `limit` seconds, and once when it is over."""

    def __init__(self, logs: Logs, *, beat: Callable[[], float], now: Callable[[], float], limit: float = 1.0) -> None:
        self._logs, self._beat, self._now, self._limit = logs, beat, now, limit
        self._watched = get_ident()
        self._since: float | None = None
        self._over = Event()
        self._thread = Thread(target=self._run, name="germane-watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Waits for a look that is under way, not longer."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(self._limit)

    def look(self) -> None:
        """Once."""
        beat, now = self._beat(), self._now()
        if self._since is None and now - beat > self._limit:
            self._since = beat
            frame = sys._current_frames().get(self._watched)
            self._logs.error("loop_blocked", seconds=now - beat, stack=places(frame))
        elif self._since is not None and beat > self._since:
            self._logs.warning("loop_free", seconds=beat - self._since)
            self._since = None

    def _run(self) -> None:
        while not self._over.wait(self._limit / 4):
            self.look()
