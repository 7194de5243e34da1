"""Relative times: rules that find days relative to today: yesterday, last Tuesday, two weeks ago."""

from __future__ import annotations

import re
from datetime import date, timedelta

from germane.pipeline.signals import calendar
from germane.pipeline.signals.dates import EAST_ASIAN, LAST, NEXT, WHICH, Resolve, Rule, rule
from germane.types.query import Days

__all__ = ["RELATIVE"]

_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "a couple": 2, "couple of": 2, "a few": 3, "few": 3,
}  # fmt: skip
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|night|week|weekend|fortnight|month|year)s?\b"
_UNITS = " ".join(f"{unit} {unit}s" for unit in ("day", "night", "week", "weekend", "fortnight", "month", "year"))
_STEP = dict.fromkeys(LAST, -1) | {"this": 0, "current": 0} | dict.fromkeys(NEXT, 1)
_LENGTH = {"week": 7, "fortnight": 14, "month": 30, "year": 365}

_OTHER_LANGUAGES = {
    word: meaning
    for words, meaning in (
        ("gestern ayer ieri ontem gisteren вчера أمس 昨天 昨日 어제", ("day", -1)),
        ("vorgestern anteayer позавчера 前天", ("day", -2)),
        ("heute hoy oggi hoje vandaag сегодня 今天 今日 오늘", ("day", 0)),
        ("завтра domani amanhã 明天 明日 내일", ("day", 1)),
        ("上周 上星期 先週 지난주", ("week", -1)),
        ("上个月 先月 지난달", ("month", -1)),
        ("去年 昨年 작년", ("year", -1)),
        ("今年 올해", ("year", 0)),
    )
    for word in words.split()
}
_SPACED = "|".join(word for word in _OTHER_LANGUAGES if word[0] < "\u1100")
_UNSPACED = "|".join(word for word in _OTHER_LANGUAGES if word[0] >= "\u1100")


def _away(unit: str, away: int, today: date) -> Days:
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
    return lambda _, today: (_away(unit, away, today),)


def _count(match: re.Match[str]) -> int:
    count = match["count"].lower()
    return _COUNTS.get(count) or int(count)


def _ago(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (_away(match["unit"].lower(), -_count(match), today),)


def _ahead(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (_away(match["unit"].lower(), _count(match), today),)


def _running(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`the last three weeks` ends today; `the next …` begins today."""
    days = _away(match["unit"].lower(), _STEP[match["which"].lower()] * _count(match), today)
    return (Days(first=min(days.first, today), last=max(days.last if days.first > today else today, today), grain=days.grain),)


def _neighbour(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`last week` is a calendar week; `the past week` is the seven days up to today."""
    unit, which = match["unit"].lower(), match["which"].lower()
    days = _away(unit, _STEP[which], today)
    if which == "past" and unit in _LENGTH:
        return (Days(first=today - timedelta(days=_LENGTH[unit]), last=today, grain=days.grain),)
    return (days,)


def _weekday(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`last` means before today, `next` after today, `this` within today's week; without any of them, the most recent such day,
    today included."""
    start, which = match["weekday"].lower(), (match["which"] or "").lower()
    number = next(index for index, name in enumerate(calendar.WEEKDAYS) if name.startswith(start))
    since = (today.weekday() - number) % 7
    if which in LAST:
        return (calendar.day(today - timedelta(days=since or 7)),)
    if which in NEXT:
        return (calendar.day(today + timedelta(days=7 - since)),)
    if which:
        return (calendar.day(today + timedelta(days=number - today.weekday())),)
    return (calendar.day(today - timedelta(days=since)),)


def _weekend(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """The current weekend, on working days the previous one."""
    return (calendar.weekend(today if today.weekday() >= 5 else today - timedelta(days=7)),)


def _other_language(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (_away(*_OTHER_LANGUAGES[match[0].lower()], today),)


RELATIVE: tuple[Rule, ...] = (
    rule(r"\b(?:the )?day before yesterday\b", _fixed("day", -2), "yesterday"),
    rule(r"\b(?:the )?day after tomorrow\b", _fixed("day", 2), "tomorrow"),
    rule(r"\b(?:yesterday|last (?:night|evening))\b", _fixed("day", -1), "yesterday last"),
    rule(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", _fixed("day", 0), "today tonight this"),
    rule(r"\btomorrow\b", _fixed("day", 1), "tomorrow"),
    rule(rf"\b{_COUNT} {_UNIT} (?:ago|back)\b", _ago, "ago back", _UNITS),
    rule(rf"\b{_COUNT} {_UNIT} from (?:now|today)\b", _ahead, "now today", _UNITS),
    rule(rf"\bin {_COUNT} {_UNIT}(?! of)", _ahead, "in", _UNITS),
    rule(rf"\b{WHICH} {_COUNT} {_UNIT}", _running, " ".join(_STEP), _UNITS),
    rule(rf"\b(?:{WHICH} )?(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day\b", _weekday, " ".join(calendar.WEEKDAYS)),
    rule(rf"\b{WHICH} (?P<unit>weekend|week|fortnight|month|year)\b", _neighbour, " ".join(_STEP), _UNITS),
    rule(r"\b(?:over|on|during|at) the weekend\b", _weekend, "weekend"),
    rule(rf"\b(?:{_SPACED})\b", _other_language, _SPACED.replace("|", " ")),
    rule(_UNSPACED, _other_language, EAST_ASIAN),
)
"""The rules in the order in which they are tried."""
