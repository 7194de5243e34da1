"""Times: finds the days that a question names, absolute and relative, in the scope's zone (SCOPE-4)."""

from __future__ import annotations

import re
from datetime import date, datetime

from germane.clock import zone
from germane.pipeline.signals.dates import DATES, DIGIT, EAST_ASIAN, YEAR, Resolve
from germane.pipeline.signals.relative import RELATIVE
from germane.types.query import Days

__all__ = ["times", "today"]

_MAX_TIMES = 8
_WORD = re.compile(r"[^\W\d_]+")
_EAST = re.compile(r"[\u1100-\u11ff\u3040-\u9fff\uac00-\ud7ff]")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\d{4}")


def today(at: datetime, zone_name: str) -> date:
    """The date of the time `at` in the zone; the time's own date where the zone would leave the calendar."""
    try:
        return at.astimezone(zone(zone_name)).date()
    except OverflowError:
        return at.date()


def times(text: str, today: date) -> tuple[Days, ...]:
    """The ranges of days that the text names, in the order of the text, at most eight.

    A month or weekday without a year or date means the most recent one at or before `today`. Dates that don't exist are left
    out (of 31 June, June remains), and so are dates outside the years 1 to 9998.
    """
    found: list[tuple[int, Days]] = []
    words = _words(text)
    for pattern, resolve, needs in (*DATES, *RELATIVE):
        if any(map(words.isdisjoint, needs)):
            continue
        text = _blank(text, pattern, resolve, today, found)
    found.sort(key=lambda pair: pair[0])
    return tuple(dict.fromkeys(days for _, days in found))[:_MAX_TIMES]


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


def _blank(text: str, pattern: re.Pattern[str], resolve: Resolve, today: date, found: list[tuple[int, Days]]) -> str:
    """Adds what the rule finds to `found`; returns the text with it blanked out, so that `7 May 2023` isn't read again as
    2023."""

    def take(match: re.Match[str]) -> str:
        try:
            named = resolve(match, today)
        except (ValueError, OverflowError):
            return match[0]
        found.extend((match.start(), days) for days in named if days.last.year < 9999)
        return " " * len(match[0])

    return pattern.sub(take, text)
