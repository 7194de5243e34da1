"""Dates: rules that find days, months, seasons and years in English, by name or number or relative to today.

By name or number means such as `7 May` or `2023-05`: without a year, the most recent such day or month is meant. Relative
means such as yesterday, last Tuesday, two weeks ago.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from germane.text.days import calendar
from germane.types.query import Days

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


_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "a couple": 2, "couple of": 2, "a few": 3, "few": 3,
}  # fmt: skip
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|night|week|weekend|fortnight|month|year)s?\b"
_UNITS = " ".join(f"{unit} {unit}s" for unit in ("day", "night", "week", "weekend", "fortnight", "month", "year"))
_STEP = dict.fromkeys(LAST, -1) | {"this": 0, "current": 0} | dict.fromkeys(NEXT, 1)
_LENGTH = {"week": 7, "fortnight": 14, "month": 30, "year": 365}


def shifted(unit: str, away: int, today: date) -> Days:
    """The day, week, month … that lies `away` units from today, before it when negative."""
    match unit:
        case "day" | "night":
            return calendar.day(today + timedelta(days=away))
        case "week":
            return calendar.week(today + timedelta(days=7 * away))
        case "weekend":
            return calendar.weekend(today + timedelta(days=7 * away))
        case "fortnight":
            return calendar.week(today + timedelta(days=14 * away))
        case "month":
            return calendar.months_away(today, away)
        case _:
            return calendar.year(today.year + away)


def _fixed(unit: str, away: int) -> Resolve:
    return lambda _, today: (shifted(unit, away, today),)


def _count(match: re.Match[str]) -> int:
    count = match["count"].lower()
    return _COUNTS.get(count) or int(count)


def _ago(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (shifted(match["unit"].lower(), -_count(match), today),)


def _ahead(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (shifted(match["unit"].lower(), _count(match), today),)


def _running(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`the last three weeks` ends today; `the next …` begins today."""
    days = shifted(match["unit"].lower(), _STEP[match["which"].lower()] * _count(match), today)
    return (Days(first=min(days.first, today), last=max(days.last if days.first > today else today, today), grain=days.grain),)


def _neighbour(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`last week` is a calendar week; `the past week` is the seven days up to today."""
    unit, which = match["unit"].lower(), match["which"].lower()
    days = shifted(unit, _STEP[which], today)
    if which == "past" and unit in _LENGTH:
        return (Days(first=today - timedelta(days=_LENGTH[unit]), last=today, grain=days.grain),)
    return (days,)


def _number_of(weekday: str) -> int:
    """The number of the weekday that begins with these letters."""
    start = weekday.lower()
    return next(index for index, name in enumerate(calendar.WEEKDAYS) if name.startswith(start))


def _weekday(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`last` means before today, `next` after today, `this` within today's week; without any of them, the most recent such day,
    today included."""
    start, which = match["weekday"].lower(), (match["which"] or "").lower()
    number = _number_of(start)
    since = (today.weekday() - number) % 7
    if which in LAST:
        return (calendar.day(today - timedelta(days=since or 7)),)
    if which in NEXT:
        return (calendar.day(today + timedelta(days=7 - since)),)
    if which:
        return (calendar.day(today + timedelta(days=number - today.weekday())),)
    return (calendar.day(today - timedelta(days=since)),)


def _of_an_earlier_week(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`Tuesday last week`; `the Tuesday before last`, which is the one before last Tuesday."""
    number = _number_of(match["weekday"])
    if match["before_last"]:
        return (calendar.day(today - timedelta(days=((today.weekday() - number) % 7 or 7) + 7)),)
    weeks = 2 if match["week"] and "before" in match["week"].lower() else 1
    return (calendar.weekday(today - timedelta(days=7 * weeks), number),)


def _day_of_month(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`on the 20th`: the most recent day of a month that has this number."""
    number = int(match["day"])
    months = (today.year * 12 + today.month - 1 - back for back in range(3))
    days = (calendar.month(month // 12, month % 12 + 1) for month in months)
    wanted = (days.first.replace(day=number) for days in days if number <= days.last.day)
    return (calendar.day(next(day for day in wanted if day <= today)),)


def _week_before_last(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (shifted(match["unit"].lower(), -2, today),)


def _lately(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`the other day`: one of the last seven before today."""
    return (calendar.span(today - timedelta(days=7), today - timedelta(days=1)),)


def _weekend(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """The current weekend, on working days the previous one."""
    return (calendar.weekend(today if today.weekday() >= 5 else today - timedelta(days=7)),)


_WEEKDAYS = " ".join(calendar.WEEKDAYS)
_WEEKDAY = r"(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day(?: (?:night|evening|morning|afternoon|lunchtime))?"
_EARLIER = r"(?:the )?(?:last week|week before last)"

RELATIVE: tuple[Rule, ...] = (
    rule(r"\b(?:the )?day before yesterday\b", _fixed("day", -2), "yesterday"),
    rule(r"\b(?:the )?day after tomorrow\b", _fixed("day", 2), "tomorrow"),
    rule(
        rf"\b{_WEEKDAY},? (?:(?:of|in|from) )?(?:(?P<before_last>before last)|(?P<week>{_EARLIER}))\b",
        _of_an_earlier_week,
        _WEEKDAYS,
        "last",
    ),
    rule(rf"\b(?P<week>{_EARLIER}),? (?:on )?{_WEEKDAY}\b(?P<before_last>)", _of_an_earlier_week, _WEEKDAYS, "last"),
    rule(rf"\b{_UNIT} before last\b", _week_before_last, "last", _UNITS),
    rule(r"\bthe other (?:day|night|evening|week)\b", _lately, "other"),
    rule(r"\b(?:yesterday|last (?:night|evening))\b", _fixed("day", -1), "yesterday last"),
    rule(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", _fixed("day", 0), "today tonight this"),
    rule(r"\btomorrow\b", _fixed("day", 1), "tomorrow"),
    rule(rf"\b{_COUNT} {_UNIT} (?:ago|back)\b", _ago, "ago back", _UNITS),
    rule(rf"\b{_COUNT} {_UNIT} from (?:now|today)\b", _ahead, "now today", _UNITS),
    rule(rf"\bin {_COUNT} {_UNIT}(?! of)", _ahead, "in", _UNITS),
    rule(rf"\b{WHICH} {_COUNT} {_UNIT}", _running, " ".join(_STEP), _UNITS),
    rule(rf"\b(?:{WHICH} )?{_WEEKDAY}\b", _weekday, _WEEKDAYS),
    rule(
        r"\b(?:(?P<which>last|past)|on) (?P<weekday>mon|tues?|wed|thurs?|thu|fri|sat)\b",
        _weekday,
        "mon tue tues wed thu thur thurs fri sat",
    ),
    rule(
        r"\bon the (?P<day>3[01]|[12]\d|[1-9])(?:st|nd|rd|th)\b(?= *(?:[?.!,;)]|$|\b(?:i|we|you|did|was|were|at|in)\b))",
        _day_of_month,
        DIGIT,
    ),
    rule(rf"\b{WHICH} (?P<unit>weekend|week|fortnight|month|year)\b", _neighbour, " ".join(_STEP), _UNITS),
    rule(r"\b(?:over|on|during|at) (?P<weekend>the weekend)\b", _weekend, "weekend"),
)
"""The rules in the order in which they are tried."""
