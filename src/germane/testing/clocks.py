"""Clocks for tests: a calendar that stands still, and a clock that advances each time it is read.

For time that sleeps and deadlines follow, see `time_warp`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from germane.clock import Clock, aware

__all__ = ["Ticking", "fixed"]


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
