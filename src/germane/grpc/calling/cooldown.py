"""Cooldown: the client's circuit breaker, which stops calls to a server that hangs.

Without it every call would wait until its limit. It counts only calls that got no reply at all. A server that is down refuses
the connection in well under a millisecond, so such calls need no breaker.
"""

from __future__ import annotations

from threading import Lock

__all__ = ["Cooldown"]


class Cooldown:
    """A circuit breaker: after `after` calls in a row that hung, no call is allowed for `seconds`.

    After that time one call is allowed as a probe; the others stay refused until its outcome is reported. `after` 0 switches
    the breaker off. Times are seconds of one monotonic clock, which the caller reads. Thread-safe.

    The caller reports each call that `allows` let through exactly once, by `answered`, `hung` or `release`.
    """

    def __init__(self, after: int = 5, seconds: float = 1.0) -> None:
        self._after, self._seconds = after, seconds
        self._in_a_row = 0
        self._until: float | None = None
        self._probing = False
        self._lock = Lock()

    def allows(self, now: float) -> bool:
        """Returns whether a call may be made now. After the cooldown the first caller gets True and makes the probe."""
        with self._lock:
            if self._until is None:
                return True
            if self._probing or now < self._until:
                return False
            self._probing = True
            return True

    def answered(self) -> None:
        """Reports a call that got a reply, an error included. Closes the breaker."""
        with self._lock:
            self._in_a_row, self._until, self._probing = 0, None, False

    def hung(self, now: float) -> None:
        """Reports a call that got no reply. Opens the breaker when it is the last of `after` in a row."""
        with self._lock:
            self._in_a_row += 1
            self._probing = False
            if self._after and self._in_a_row >= self._after:
                self._until = now + self._seconds

    def release(self) -> None:
        """Reports a call that says nothing about the server: the caller cancelled it, or it was never sent."""
        with self._lock:
            self._probing = False
