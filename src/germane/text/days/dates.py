"""Dates: rules that find days, months, seasons and years by name or number, such as `7 May` or `2023-05`.

Without a year, the most recent such day or month is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from germane.text.days import calendar
from germane.types.query import Days

__all__ = ["DATES", "DIGIT", "EAST_ASIAN", "LAST", "NEXT", "WHICH", "YEAR", "YEARS", "Resolve", "Rule", "rule"]

Resolve = Callable[[re.Match[str], date], tuple[Days, ...]]
"""Turns a match and today's date into the days meant; raises `ValueError` or `OverflowError` for dates that don't exist."""
Rule = tuple[re.Pattern[str], Resolve, tuple[frozenset[str], ...]]
"""A pattern, its resolver, and sets of words: at least one word of each set must occur for the pattern to match."""

WHICH = r"(?P<which>last|previous|past|this|current|next|coming)"
EAST_ASIAN, DIGIT, YEAR = "東", "0", "0000"
"""Placeholders among a rule's words: any character of a script without spaces, any digit, four digits in a row."""
LAST = ("last", "previous", "past")
NEXT = ("next", "coming")

_NAMES = r"january|february|april|june|july|august|september|october|november|december"
_SEASONS = " ".join(calendar.SEASONS)
_MONTH = rf"(?P<month>{_NAMES}|march|may|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
_DAY = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?![\w:])"
_MONTHS = f"{_NAMES.replace('|', ' ')} march may jan feb mar apr jun jul aug sep sept oct nov dec"
_BEFORE_A_MONTH = rf"(?:{WHICH}|in|on|of|during|since|until|by|from|to|early|late|mid|around|before|after|every)[ -]"


def rule(pattern: str, resolve: Resolve, *needs: str) -> Rule:
    """A rule; each of `needs` is a set of words, separated by spaces."""
    return re.compile(pattern, re.IGNORECASE), resolve, tuple(frozenset(words.split()) for words in needs)


def _month_number(match: re.Match[str]) -> int:
    start = match["month"].lower()[:3]
    return next(number for number, name in enumerate(calendar.MONTHS, 1) if name.startswith(start))


def _numbered_day(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.day(date(int(match["year"]), int(match["m"]), int(match["d"]))),)


def _numbered_month(match: re.Match[str], today: date) -> tuple[Days, ...]:
    month = int(match["m"])
    return (calendar.month(int(match["year"] or calendar.last_named(today, month)), month),)


def _slashed(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """Day and month in either order: returns both readings where both are possible."""
    one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
    readings = {(month, day) for month, day in ((one, two), (two, one)) if month <= 12}
    return tuple(calendar.day(date(year, month, day)) for month, day in sorted(readings))


def _named_day(match: re.Match[str], today: date) -> tuple[Days, ...]:
    month, day = _month_number(match), int(match["day"])
    year = int(match["year"]) if match["year"] else calendar.last_named(today, month, day)
    return (calendar.day(date(year, month, day)),)


def _named_month(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.month(int(match["year"]), _month_number(match)),)


def _bare_month(match: re.Match[str], today: date) -> tuple[Days, ...]:
    month, which = _month_number(match), (match["which"] or "").lower()
    year = calendar.last_named(today, month)
    if which in LAST and month == today.month:
        year -= 1
    elif which in NEXT:
        year += 1
    elif which in ("this", "current"):
        year = today.year
    return (calendar.month(year, month),)


def _season(match: re.Match[str], today: date) -> tuple[Days, ...]:
    first, which = calendar.SEASONS[match["season"].lower()], (match["which"] or "").lower()
    if match["year"]:
        return (calendar.season(int(match["year"]), first),)
    year = calendar.last_named(today, first)
    running = calendar.season(year, first).last >= today
    if which in LAST and running:
        year -= 1
    elif which in NEXT:
        year += 1
    elif which in ("this", "current") and not running:
        year = today.year
    return (calendar.season(year, first),)


def _year(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.year(int(match["year"])),)


DATES: tuple[Rule, ...] = (
    rule(
        r"(?<![\w-])(?P<year>[12]\d{3})[-/.](?P<m>1[0-2]|0?[1-9])[-/.](?P<d>3[01]|[12]\d|0?[1-9])(?![\d-])", _numbered_day, YEAR
    ),
    rule(r"(?<!\d)(?P<year>[12]\d{3})[年년] ?(?P<m>\d{1,2})[月월] ?(?P<d>\d{1,2})[日일号]", _numbered_day, EAST_ASIAN, DIGIT),
    rule(r"(?<!\d)(?:(?P<year>[12]\d{3})[年년] ?)?(?P<m>\d{1,2})[月월](?! ?\d)", _numbered_month, EAST_ASIAN, DIGIT),
    rule(r"(?<!\d)(?P<year>[12]\d{3})[年년]", _year, EAST_ASIAN, DIGIT),
    rule(r"(?<![\w/.])(?P<one>\d{1,2})[/.](?P<two>\d{1,2})[/.](?P<year>(?:19|20)\d\d)(?![\w/])", _slashed, YEAR),
    rule(rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?", _named_day, _MONTHS, DIGIT),
    rule(rf"\b{_MONTH} (?:the )?{_DAY}(?!:)(?:,? {_YEAR})?", _named_day, _MONTHS, DIGIT),
    rule(rf"\b{_MONTH}(?: of|,)? {_YEAR}", _named_month, _MONTHS, YEAR),
    rule(r"(?<![\w-])(?P<year>(?:19|20)\d\d)-(?P<m>1[0-2]|0[1-9])(?![\w-])", _numbered_month, YEAR),
    rule(rf"\b(?P<which>)(?P<season>spring|summer|autumn|fall|winter)(?: of|,)? {_YEAR}", _season, _SEASONS, YEAR),
    rule(
        rf"\b(?:{WHICH}|(?:in|during|over)(?: the)?)(?P<year>) (?P<season>spring|summer|autumn|fall|winter)\b",
        _season,
        _SEASONS,
    ),
    # "march" and "may" are also verbs: without a day or year they need a capital letter, and a word such as "in" before.
    rule(rf"\b{_BEFORE_A_MONTH}(?P<month>{_NAMES}|(?-i:March|May))\b", _bare_month, " ".join(calendar.MONTHS)),
    rule(rf"\b(?P<which>)(?P<month>{_NAMES})\b", _bare_month, " ".join(calendar.MONTHS)),
)
"""The rules in the order in which they are tried."""
YEARS: tuple[Rule, ...] = (rule(rf"(?<![\w.:/$€£#-]){_YEAR}(?![/-])", _year, YEAR),)
"""The rule of a year alone, which comes after all other rules."""
