"""How near a unit's time lies to the days a query names."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from germane.clock import zone
from germane.search.features import date_nearness
from germane.types.query import Days

NAMED = date(2026, 3, 10)
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def days_after(*offsets: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([(NOON + timedelta(days=offset)).timestamp() for offset in offsets])


@pytest.mark.requirement("SIG-1")
def test_a_named_day_speaks_for_itself_and_for_what_is_told_soon_after() -> None:
    """2 within a day of it, 1 up to ten days later, else nothing."""
    month, day = date_nearness([Days(first=NAMED, last=NAMED)], days_after(-2, -1, 0, 1, 2, 10, 11))
    assert day.tolist() == [0, 2, 2, 2, 1, 1, 0]
    assert not month.any()


def test_a_named_month_speaks_for_all_of_it_and_for_nothing_else() -> None:
    """Both ends included."""
    march = Days(first=date(2026, 3, 1), last=date(2026, 3, 31), grain="month")
    edges = [datetime(2026, 2, 28, 23, 59), datetime(2026, 3, 1), datetime(2026, 3, 31, 23, 59), datetime(2026, 4, 1)]
    month, day = date_nearness([march], np.array([edge.replace(tzinfo=UTC).timestamp() for edge in edges]))
    assert month.tolist() == [0, 1, 1, 0]
    assert not day.any()


def test_of_several_days_the_nearest_counts() -> None:
    """Naming two days is not twice as good."""
    stretches = [Days(first=NAMED, last=NAMED), Days(first=NAMED + timedelta(days=3), last=NAMED + timedelta(days=3))]
    _, day = date_nearness(stretches, days_after(0, 3))
    assert day.tolist() == [2, 2]


@pytest.mark.requirement("SEARCH-1")
@pytest.mark.parametrize("grain", ["day", "year"])
def test_the_ends_of_the_calendar_are_days_too(grain: str) -> None:
    """There is no day after the last one to overflow into."""
    stretches = [Days(first=date(1, 1, 1), last=date(1, 1, 1)), Days(first=date(9999, 1, 1), last=date.max, grain=grain)]  # type: ignore[arg-type]
    month, day = date_nearness(stretches, days_after(0))
    assert (month.tolist(), day.tolist()) == ([0], [0])


def test_no_days_say_nothing() -> None:
    month, day = date_nearness([], days_after(0, 1))
    assert not month.any()
    assert not day.any()


@pytest.mark.requirement("SCOPE-4")
def test_a_day_is_one_of_the_scopes_zone() -> None:
    """Midnight in Auckland is noon of the day before in UTC."""
    auckland = zone("Pacific/Auckland")
    begins = datetime(2024, 7, 1, tzinfo=auckland).timestamp()
    july = Days(first=date(2024, 7, 1), last=date(2024, 7, 31), grain="month")
    month, _ = date_nearness([july], np.array([begins, begins - 1]), auckland)
    assert month.tolist() == [1, 0]
