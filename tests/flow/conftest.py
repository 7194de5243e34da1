"""A store in a real file with the real static embedder, loaded once, and a calendar that stands still until it is moved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Clock, Germane
from germane.embedders.static import Static
from germane.testing.builders import MOMENT

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


@pytest.fixture(scope="session")
def embedder() -> Static:
    static = Static()
    static.warm()
    return static


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def opening(tmp_path: Path, embedder: Static, calendar: Calendar) -> Opening:
    """Opens the same store, again and again."""

    def opened(**options: Any) -> Germane:
        given: dict[str, Any] = {"embedder": embedder, "clock": calendar.clock}
        return Germane.open(tmp_path / "germane.db", **given | options)

    return opened


@pytest.fixture
async def germane(opening: Opening) -> AsyncIterator[Germane]:
    async with opening() as opened:
        yield opened


@pytest.fixture
def agent(germane: Germane) -> Agent:
    return germane.agent("support", org="acme", user="caroline")
