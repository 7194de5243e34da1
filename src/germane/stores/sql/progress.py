"""Progress: tells how far long work has come: a caller's function at each step, the log every few seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

_LOG = logging.getLogger("germane.store")
_PAUSE = 5.0
"""Seconds between two lines of the log."""


def log(message: str, *values: object) -> None:
    """Logs a line to `germane.store`, level INFO. Never raises, whatever the application's log handlers do."""
    with suppress(Exception):
        _LOG.info(message, *values)


class Progress:
    """The progress of `what` in the store `name`, in steps of `total`. `steady` is a clock in seconds. The first and the last
    step are logged, and in between one step every five seconds."""

    def __init__(
        self, name: str, what: str, total: int, steady: Callable[[], float], told: Callable[[int, int], None] | None = None
    ) -> None:
        self._name, self._what, self._total, self._steady, self._told = name, what, total, steady, told
        self._logged: float | None = None
        self._done = 0
        if total:
            self._tell()

    def step(self) -> None:
        """One step more is done."""
        self._done += 1
        self._total = max(self._total, self._done)
        self._tell()

    def _tell(self) -> None:
        if self._told is not None:
            self._told(self._done, self._total)
        now = self._steady()
        if self._logged is None or now - self._logged >= _PAUSE or self._done == self._total:
            self._logged = now
            log("store %r: %s: %d of %d", self._name, self._what, self._done, self._total)
