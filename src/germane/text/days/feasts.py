"""Feasts: rules that find the days of feasts, fixed and movable, by their names in the languages of the other rules.

The Chinese feasts of the lunar calendar aren't among them, as no short formula gives their days.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from germane.text.days import calendar
from germane.text.days.dates import EAST_ASIAN, Resolve, Rule, rule
from germane.types.query import Days

_Feast = Callable[[int], Days]


def _easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (the anonymous computus of 1876)."""
    golden, century, rest = year % 19, year // 100, year % 100
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    shift = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    month, day = divmod(epact + shift - 7 * ((golden + 11 * epact + 22 * shift) // 451) + 114, 31)
    return date(year, month, day + 1)


def _fixed(month: int, first: int, last: int | None = None) -> _Feast:
    return lambda year: calendar.span(date(year, month, first), date(year, month, last or first))


def _from_easter(first: int, last: int | None = None) -> _Feast:
    def days(year: int) -> Days:
        sunday = _easter(year)
        return calendar.span(sunday + timedelta(days=first), sunday + timedelta(days=first if last is None else last))

    return days


def _thanksgiving(after: int) -> _Feast:
    """`after` days after the fourth Thursday of November."""

    def days(year: int) -> Days:
        first = date(year, 11, 1)
        return calendar.day(first + timedelta(days=(3 - first.weekday()) % 7 + 21 + after))

    return days


def _qingming(year: int) -> Days:
    """The fifth solar term, by the usual formula, which is right from 1901 to 2099."""
    short = year % 100
    return calendar.day(date(year, 4, int(short * 0.2422 + (4.81 if year >= 2000 else 5.59)) - short // 4))


_NAMES: tuple[tuple[str, _Feast], ...] = (
    (
        ("christmas eve|heiligabend|heilig abend|reveillon|nochebuena|vigilia di natale|kerstavond|wigilia|wigilii|wigilie"),
        _fixed(12, 24),
    ),
    ("christmas day|erster weihnachtsfeiertag", _fixed(12, 25)),
    ("boxing day|santo stefano|zweiter weihnachtsfeiertag", _fixed(12, 26)),
    (
        (
            "christmas|xmas|weihnachten|a noel|de noel|avant noel|apres noel|noel dernier|navidad|natale|no natal"
            "|do natal|ao natal|kerst|kerstmis|boze narodzenie|julen"
        ),
        _fixed(12, 24, 26),
    ),
    (
        (
            "new year's eve|new years eve|silvester|saint sylvestre|nochevieja|san silvestro|oudejaarsavond|oud en nieuw"
            "|sylwester|sylwestra|nyarsafton|yilbasi gecesi"
        ),
        _fixed(12, 31),
    ),
    (
        (
            "new year's day|new years day|new year's|new year|neujahr|nouvel an|ano nuevo|capodanno|ano novo|nieuwjaar"
            "|nowy rok|новый год|yilbasi|nyarsdagen"
        ),
        _fixed(1, 1),
    ),
    (
        (
            "valentine's day|valentines day|valentine's|valentines|valentinstag|saint valentin|san valentin|san valentino"
            "|valentijnsdag|walentynki"
        ),
        _fixed(2, 14),
    ),
    ("st patrick's day|saint patrick's day", _fixed(3, 17)),
    ("halloween", _fixed(10, 31)),
    ("bonfire night|guy fawkes night", _fixed(11, 5)),
    ("nikolaus|sinterklaas", _fixed(12, 5, 6)),
    (
        (
            "good friday|karfreitag|vendredi saint|viernes santo|venerdi santo|sexta feira santa|goede vrijdag"
            "|wielki piatek|langfredagen"
        ),
        _from_easter(-2),
    ),
    ("easter sunday|ostersonntag", _from_easter(0)),
    ("easter monday|ostermontag|lundi de paques|pasquetta|tweede paasdag", _from_easter(1)),
    ("pfingstmontag|whit monday|lundi de pentecote", _from_easter(50)),
    ("easter|ostern|paques|semana santa|pasqua|pascoa|pasen|wielkanoc|pasken|i pask", _from_easter(-2, 1)),
    ("rosenmontag", _from_easter(-48)),
    ("shrove tuesday|pancake day|mardi gras|martedi grasso|martes de carnaval", _from_easter(-47)),
    ("ash wednesday|aschermittwoch|mercredi des cendres|miercoles de ceniza", _from_easter(-46)),
    ("ascension day|christi himmelfahrt|himmelfahrt|l'ascension|hemelvaart|ascensione", _from_easter(39)),
    (
        "whitsun|whit sunday|pentecost|pfingsten|pentecote|pentecostes|pentecoste|pinksteren|pingst|zielone swiatki",
        _from_easter(49, 50),
    ),
    ("corpus christi|fronleichnam|boze cialo", _from_easter(60)),
    ("thanksgiving", _thanksgiving(0)),
    ("black friday", _thanksgiving(1)),
)
_UNSPACED: tuple[tuple[str, _Feast], ...] = (
    ("清明", _qingming),
    ("情人节|情人節|バレンタインデー|バレンタイン|발렌타인", _fixed(2, 14)),
    ("平安夜|クリスマスイブ", _fixed(12, 24)),
    ("圣诞节|聖誕節|圣诞|クリスマス|성탄절|크리스마스", _fixed(12, 24, 26)),
    ("元旦|元日", _fixed(1, 1)),
    ("跨年夜|大晦日|おおみそか", _fixed(12, 31)),
    ("国庆|國慶", _fixed(10, 1, 7)),
    ("劳动节|勞動節", _fixed(5, 1)),
)
_NEXT = r"next|coming|nachste[sn]?|kommende[sn]?"
_WORDS = re.compile(r"[^\W\d_]+")


def _resolved(feast: _Feast) -> Resolve:
    """The feast of the year that is named, else the next one where the words say so, else the last one that has begun."""

    def days(match: re.Match[str], today: date) -> tuple[Days, ...]:
        if match["year"]:
            return (feast(int(match["year"])),)
        years = (today.year - 1, today.year, today.year + 1)
        if match["next"]:
            return (next(days for days in map(feast, years) if days.first > today),)
        return (next(days for days in map(feast, reversed(years)) if days.first <= today),)

    return days


def _spaced(names: str, feast: _Feast) -> Rule:
    """The names are written without accents; a space in them may be a hyphen."""
    pattern = names.replace(" ", "[ -]")
    first = {_WORDS.search(name)[0] for name in names.split("|")}  # type: ignore[index]
    year = r"(?: (?:de |of )?(?P<year>(?:19|20)\d\d)\b)?"
    return rule(rf"\b(?:(?P<next>{_NEXT}) )?(?P<feast>{pattern})\b{year}", _resolved(feast), " ".join(first))


FEASTS: tuple[Rule, ...] = (
    *(_spaced(names, feast) for names, feast in _NAMES),
    *(rule(rf"(?P<next>)(?P<year>)(?P<feast>{names})", _resolved(feast), EAST_ASIAN) for names, feast in _UNSPACED),
)
"""The rules, on a text without accents; a longer name of a feast comes before a shorter one."""
