"""Calendar: a clock that stands still until a test moves it, and the type of the fixture that opens a store with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from germane import Clock, Germane
from germane_testing.builders import MOMENT

__all__ = ["Calendar", "Opening"]

Opening = Callable[..., Germane]


class Calendar:
    """A clock whose `now` is `moment`; its deadlines follow the event loop."""

    def __init__(self, moment: datetime = MOMENT) -> None:
        self.moment = moment

    def advance(self, **by: float) -> None:
        self.moment += timedelta(**by)

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.moment)
