"""Calendar: stretches of days counted from another day. Weeks begin on Monday; seasons are the northern ones."""

from __future__ import annotations

from datetime import date, timedelta

from germane.types.query import Days

__all__ = [
    "MONTHS",
    "SEASONS",
    "WEEKDAYS",
    "day",
    "last_named",
    "month",
    "months_away",
    "season",
    "span",
    "week",
    "weekend",
    "year",
]

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def day(first: date) -> Days:
    return Days(first=first, last=first)


def span(first: date, last: date) -> Days:
    return Days(first=first, last=last)


def week(within: date) -> Days:
    """The week, Monday to Sunday, that a day belongs to."""
    monday = within - timedelta(days=within.weekday())
    return Days(first=monday, last=monday + timedelta(days=6), grain="week")


def weekend(within: date) -> Days:
    """Saturday and Sunday of the week a day belongs to."""
    saturday = within + timedelta(days=5 - within.weekday())
    return span(saturday, saturday + timedelta(days=1))


def month(of_year: int, number: int, count: int = 1) -> Days:
    """`count` whole months from month `number` (1 to 12) on."""
    following = (of_year * 12 + number - 1) + count
    last = date(following // 12, following % 12 + 1, 1) - timedelta(days=1)
    return Days(first=date(of_year, number, 1), last=last, grain="month")


def year(number: int) -> Days:
    return Days(first=date(number, 1, 1), last=date(number, 12, 31), grain="year")


def season(of_year: int, first_month: int) -> Days:
    """Three months; winter reaches into the next year."""
    return month(of_year, first_month, 3)


def months_away(today: date, away: int) -> Days:
    """The month `away` months from today's, backwards when negative."""
    place = today.year * 12 + today.month - 1 + away
    return month(place // 12, place % 12 + 1)


def last_named(today: date, number: int, on: int = 1) -> int:
    """The year of the most recent month `number`, counted from its day `on`, at or before today."""
    return today.year if (number, on) <= (today.month, today.day) else today.year - 1
