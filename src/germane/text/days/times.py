"""Times: finds the days that a question names, absolute and relative, in the scope's zone (SCOPE-4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from germane.clock import zone
from germane.text.days.beside import besides
from germane.text.days.dates import DATES, DIGIT, EAST_ASIAN, RELATIVE, YEAR, YEARS, Resolve, Rule
from germane.text.days.elsewhere import ELSEWHERE
from germane.text.days.feasts import FEASTS
from germane.text.days.unspaced import UNSPACED
from germane.text.days.vocabulary import unaccented
from germane.types.query import Days

_MAX_TIMES = 8
_WORD = re.compile(r"[^\W\d_]+")
_EAST = re.compile(r"[\u1100-\u11ff\u3040-\u9fff\uac00-\ud7ff]")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\d{4}")
_AS_WRITTEN: tuple[Rule, ...] = (*UNSPACED, *DATES, *RELATIVE)
_WITHOUT_ACCENTS: tuple[Rule, ...] = (*ELSEWHERE, *YEARS)
_SAYING_WHICH = ("which", "year", "count", "behind", "week", "before_last", "native", "unit")
"""Groups of the rules that say which of several such days is meant."""
_RECURRING = ("weekday", "month", "m", "season", "feast", "weekend", "day", "d")
"""Groups that name a day which comes again."""
_APPOSITION = 8
"""Characters between a weekday and the date that it is a weekday of: `Friday, the 20th of July`."""


_REACH = 48
"""Characters in which a date may stand that something is named beside: `the week before the third of August, 2023`."""


class NamedDays(NamedTuple):
    """Days that a text names between `start` and `end`. `sure`: no later days can be meant, as `Friday` may be next Friday."""

    start: int
    end: int
    days: Days
    sure: bool
    weekday: bool = False
    """Only a weekday names it."""


_start = attrgetter("start")


def today(at: datetime, zone_name: str) -> date:
    """The date of the time `at` in the zone; the time's own date where the zone would leave the calendar."""
    try:
        return at.astimezone(zone(zone_name)).date()
    except OverflowError:
        return at.date()


def times(text: str, today: date) -> tuple[Days, ...]:
    """The ranges of days that the text names, in the order of the text, at most eight.

    A month, a feast or weekday without a year or date means the most recent one at or before `today`. Dates that don't exist
    are left out (of 31 June, June remains), and so are dates outside the years 1 to 9998.
    """
    return tuple(dict.fromkeys(named.days for named in named_days(text, today)))


def named_days(text: str, today: date) -> tuple[NamedDays, ...]:
    """The same with their places in the text: the first eight different ones."""
    found = list[NamedDays]()
    for beside in besides(text):
        stands = text[beside.event_start : beside.event_start + _REACH] if not beside.behind else beside.event
        near = _plainly(stands, today)[:1]
        if not near or (near[0].start > _APPOSITION and not beside.behind):
            continue
        if (days := beside.days(near[0].days)) is not None:
            end = beside.end if beside.behind else beside.event_start + near[0].end
            found.append(NamedDays(beside.start, end, days, near[0].sure))
            text = text[: beside.start] + " " * (end - beside.start) + text[end:]
    return _distinct(sorted([*found, *_plainly(text, today)], key=_start))


def _plainly(text: str, today: date) -> list[NamedDays]:
    """The days that the text names by themselves, in its order."""
    found = list[NamedDays]()
    _blanked(unaccented(text), FEASTS, _words(unaccented(text)), today, found)
    for start, end in [(one.start, one.end) for one in found]:  # no Friday of Good Friday is read again
        text = text[:start] + " " * (end - start) + text[end:]
    text = unaccented(_blanked(text, _AS_WRITTEN, _words(text), today, found))
    _blanked(text, _WITHOUT_ACCENTS, _words(text), today, found)
    found.sort(key=_start)
    return [one for one in found if not (one.weekday and any(_is_date_of(other, one) for other in found))]


def _is_date_of(date: NamedDays, weekday: NamedDays) -> bool:
    apart = max(date.start - weekday.end, weekday.start - date.end)
    return not date.weekday and date.days.grain == "day" and apart <= _APPOSITION


def _distinct(found: Sequence[NamedDays]) -> tuple[NamedDays, ...]:
    first = dict[Days, None]()
    for one in found:
        if one.days in first or len(first) < _MAX_TIMES:
            first.setdefault(one.days)
    return tuple(one for one in found if one.days in first)


def _words(text: str) -> set[str]:
    """The words of the text in lower case, with the placeholders for digits and East Asian script that rules use."""
    words = set(_WORD.findall(text.lower()))
    if _DIGIT.search(text):
        words.add(DIGIT)
        if _YEAR.search(text):
            words.add(YEAR)
    if not text.isascii() and _EAST.search(text):
        words.add(EAST_ASIAN)
    return words


def _blanked(text: str, rules: Sequence[Rule], words: set[str], today: date, found: list[NamedDays]) -> str:
    """Adds what the rules find to `found`; returns the text with it blanked out, so that `7 May 2023` isn't read again as
    2023."""
    for pattern, resolve, needs in rules:
        if not any(map(words.isdisjoint, needs)):
            text = pattern.sub(partial(_take, resolve=resolve, today=today, found=found), text)
    return text


def _take(match: re.Match[str], resolve: Resolve, today: date, found: list[NamedDays]) -> str:
    try:
        named = resolve(match, today)
    except (ValueError, OverflowError, StopIteration):
        return match[0]
    groups = match.groupdict()
    sure = any(map(groups.get, _SAYING_WHICH)) or groups.keys().isdisjoint(_RECURRING)
    weekday = "weekday" in groups and not any(map(groups.get, ("week", "before_last")))
    found.extend(NamedDays(*match.span(), days, sure, weekday) for days in named if days.last.year < 9999)
    return " " * len(match[0])
