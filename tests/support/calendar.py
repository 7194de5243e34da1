"""Calendar: a clock that stands still until it is moved, and the type of the fixture that opens a store with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from germane import Clock, Germane
from germane.testing.builders import MOMENT

__all__ = ["Calendar", "Opening"]

Opening = Callable[..., Germane]


class Calendar:
    """`now` is where it was put; deadlines stay the event loop's."""

    def __init__(self, moment: datetime = MOMENT) -> None:
        self.moment = moment

    def advance(self, **by: float) -> None:
        self.moment += timedelta(**by)

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.moment)
