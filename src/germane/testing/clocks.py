"""Clocks for tests: one that stands still and one that ticks each time it is read.

For time that sleeps and deadlines obey, see `time_warp`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from germane.clock import Clock, aware

__all__ = ["Ticking", "fixed"]


def fixed(moment: datetime) -> Clock:
    """A calendar that always says `moment` (naive: UTC). `steady` stays the event loop's."""
    still = aware(moment)
    return Clock(now=lambda: still)


class Ticking:
    """A clock that moves on by `step` each time either of its faces is read, from `start` (naive: UTC) on.

    `steady` counts the seconds since `start`. `advance` moves it by hand; with a step of zero nothing else does.
    """

    def __init__(self, start: datetime, step: timedelta = timedelta(seconds=1)) -> None:
        self._start = self._moment = aware(start)
        self._step = step

    @property
    def clock(self) -> Clock:
        return Clock(now=self._now, steady=self._steady)

    def advance(self, by: timedelta) -> None:
        self._moment += by

    def _now(self) -> datetime:
        moment = self._moment
        self._moment += self._step
        return moment

    def _steady(self) -> float:
        return (self._now() - self._start).total_seconds()
