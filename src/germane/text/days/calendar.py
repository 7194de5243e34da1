"""Calendar: computes days, weeks, months, seasons and years as ranges of days.

Weeks begin on Monday; seasons are those of the northern hemisphere.
"""

from __future__ import annotations

from datetime import date, timedelta

from germane.types.query import Days

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def day(first: date) -> Days:
    """A single day."""
    return Days(first=first, last=first)


def span(first: date, last: date) -> Days:
    """The days from `first` to `last`, both included."""
    return Days(first=first, last=last)


def week(within: date) -> Days:
    """The week, Monday to Sunday, that contains the day."""
    monday = within - timedelta(days=within.weekday())
    return Days(first=monday, last=monday + timedelta(days=6), grain="week")


def weekday(within: date, number: int) -> Days:
    """The weekday (Monday is 0) of the week that contains the day."""
    return day(within + timedelta(days=number - within.weekday()))


def weekend(within: date) -> Days:
    """Saturday and Sunday of the week that contains the day."""
    saturday = within + timedelta(days=5 - within.weekday())
    return span(saturday, saturday + timedelta(days=1))


def month(of_year: int, number: int, count: int = 1) -> Days:
    """`count` whole months, beginning with month `number` (1 to 12)."""
    following = (of_year * 12 + number - 1) + count
    last = date(following // 12, following % 12 + 1, 1) - timedelta(days=1)
    return Days(first=date(of_year, number, 1), last=last, grain="month")


def year(number: int) -> Days:
    """The whole year."""
    return Days(first=date(number, 1, 1), last=date(number, 12, 31), grain="year")


def season(of_year: int, first_month: int) -> Days:
    """The three months from `first_month` on; winter ends in the next year."""
    return month(of_year, first_month, 3)


def months_away(today: date, away: int) -> Days:
    """The month that lies `away` months after today's, before it when negative."""
    months = today.year * 12 + today.month - 1 + away
    return month(months // 12, months % 12 + 1)


def last_named(today: date, number: int, on: int = 1) -> int:
    """The year in which month `number` last began, at or before today; or its day `on` last came."""
    return today.year if (number, on) <= (today.month, today.day) else today.year - 1
