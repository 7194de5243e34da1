"""Times: the days a question names, dates and relative times alike, as the asker's calendar has them (SCOPE-4)."""

from __future__ import annotations

import re
from datetime import date, datetime

from germane.clock import zone
from germane.pipeline.signals.dates import DATES, DIGIT, EAST_ASIAN, YEAR, Resolve
from germane.pipeline.signals.relative import RELATIVE
from germane.types.query import Days

__all__ = ["times", "today"]

_MOST = 8
_WORD = re.compile(r"[^\W\d_]+")
_EAST = re.compile(r"[\u1100-\u11ff\u3040-\u9fff\uac00-\ud7ff]")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\d{4}")


def today(at: datetime, zone_name: str) -> date:
    """The day that `at` falls on in the zone."""
    try:
        return at.astimezone(zone(zone_name)).date()
    except OverflowError:
        return at.date()


def times(text: str, today: date) -> tuple[Days, ...]:
    """The stretches of days that the text names, in its order, at most eight.

    Months and weekdays that don't say which are the most recent at or before `today`. What no calendar holds is
    left out (of 31 June the month remains), and so is what lies outside the years 1 to 9998.
    """
    found: list[tuple[int, Days]] = []
    words = _words(text)
    for pattern, resolve, needs in (*DATES, *RELATIVE):
        if any(map(words.isdisjoint, needs)):
            continue
        text = _blank(text, pattern, resolve, today, found)
    found.sort(key=lambda pair: pair[0])
    return tuple(dict.fromkeys(days for _, days in found))[:_MOST]


def _words(text: str) -> set[str]:
    """What rules may need to occur: words in lower case, and signs for digits and East Asian script."""
    words = set(_WORD.findall(text.lower()))
    if _DIGIT.search(text):
        words.add(DIGIT)
        if _YEAR.search(text):
            words.add(YEAR)
    if not text.isascii() and _EAST.search(text):
        words.add(EAST_ASIAN)
    return words


def _blank(text: str, pattern: re.Pattern[str], resolve: Resolve, today: date, found: list[tuple[int, Days]]) -> str:
    """`text` with what was understood blanked out, so that `7 May 2023` isn't read again as 2023."""

    def take(match: re.Match[str]) -> str:
        try:
            named = resolve(match, today)
        except (ValueError, OverflowError):
            return match[0]
        found.extend((match.start(), days) for days in named if days.last.year < 9999)
        return " " * len(match[0])

    return pattern.sub(take, text)
