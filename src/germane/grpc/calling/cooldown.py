"""Cooldown: a server that hangs is left alone for a while, so that not every call waits until its limit to learn it.

It counts only calls that nothing came back from. A server that is down answers for itself, in well under a millisecond, and
needs none of this.
"""

from __future__ import annotations

from threading import Lock

__all__ = ["Cooldown"]


class Cooldown:
    """After `after` calls in a row that hung, nothing is asked for `seconds`; then one call tries, and the others go on
    waiting for what comes of it. `after` 0 switches it off. Times are of one steady clock, the caller's. Any thread may call.

    Each call that `allows` let through ends in exactly one of `answered`, `hung` or `release`.
    """

    def __init__(self, after: int = 5, seconds: float = 1.0) -> None:
        self._after, self._seconds = after, seconds
        self._in_a_row = 0
        self._until: float | None = None
        self._trying = False
        self._lock = Lock()

    def allows(self, now: float) -> bool:
        with self._lock:
            if self._until is None:
                return True
            if self._trying or now < self._until:
                return False
            self._trying = True
            return True

    def answered(self) -> None:
        """Something came back, be it an error."""
        with self._lock:
            self._in_a_row, self._until, self._trying = 0, None, False

    def hung(self, now: float) -> None:
        with self._lock:
            self._in_a_row += 1
            self._trying = False
            if self._after and self._in_a_row >= self._after:
                self._until = now + self._seconds

    def release(self) -> None:
        """The caller went away, or the call was never made: nothing was learnt."""
        with self._lock:
            self._trying = False
