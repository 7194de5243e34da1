"""Days: finds calendar dates, of at least two of day, month and year, and writes them in one form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from germane.extraction.entities.tokens import HIDDEN
from germane.kinds.graph.value import FoundEntity
from germane.text.normal import fold

_MONTHS = """
january jan januar janvier enero ene gennaio janeiro januari stycznia styczen января январь
february feb februar fevrier febrero febbraio fevereiro februari lutego luty февраля февраль
march mar marz mars marzo marco maart marca marzec марта март
april apr avril abril aprile kwietnia kwiecien апреля апрель
may mai mayo maggio maio mei maja maj мая май
june jun juni juin junio giugno junho czerwca czerwiec июня июнь
july jul juli juillet julio luglio julho lipca lipiec июля июль
august aug aout agosto ago augustus sierpnia sierpien августа август
september sep sept septembre septiembre settembre setembro wrzesnia wrzesien сентября сентябрь
october oct oktober okt octobre octubre ottobre outubro pazdziernika pazdziernik октября октябрь
november nov novembre noviembre novembro listopada listopad ноября ноябрь
december dec dezember dez decembre diciembre dic dicembre dezembro grudnia grudzien декабря декабрь
"""
_SPELT = "février août décembre märz marzo março września października kwietnia"
_NAMES = "|".join(sorted({*_MONTHS.split(), *_SPELT.split()}, key=lambda name: (-len(name), name)))
_DATE = re.compile(
    r"(?<![\w.-])(?P<y1>[12]\d{3})[-/.](?P<m1>1[0-2]|0?[1-9])[-/.](?P<d1>3[01]|[12]\d|0?[1-9])(?![\w-])"
    r"|(?<![\w/.])(?P<a>\d{1,2})[/.](?P<b>\d{1,2})[/.](?P<y2>(?:19|20)\d\d)(?![\w/])"
    r"|(?:(?P<y3>[12]\d{3})[年년] ?)?(?P<m3>1[0-2]|[1-9])[月월] ?(?P<d3>3[01]|[12]\d|[1-9])[日号일]"
    r"|(?P<y4>[12]\d{3})[年년] ?(?P<m4>1[0-2]|[1-9])[月월]"
    r"|(?<![\w.,:/-])(?P<d5>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|er|º|\.)?(?: of| de)? (?P<n5>[^\W\d_]{3,12})\b"
    r"(?:,?(?: de| del)? (?P<y5>(?:1\d|20)\d\d)(?![\w:]))?"
    rf"|\b(?P<n6>(?i:{_NAMES}))\.? (?:the )?"
    r"(?P<d6>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\w:.%/-]\w|[\w%])"
    r"(?:,? (?P<y6>(?:1\d|20)\d\d)(?![\w:]))?"
    rf"|\b(?P<n7>(?i:{_NAMES}))"
    r"(?:,| of| de| del)? (?P<y7>(?:1\d|20)\d\d)(?![\w:-])"
)
_WORDS = frozenset({"may", "march", "mar", "mars", "dec", "dic", "ago", "set", "marca", "ene"})
_DIGIT = re.compile(r"\d")


@cache
def _months() -> Mapping[str, int]:
    lines = [line.split() for line in _MONTHS.strip().splitlines()]
    return {name: number for number, names in enumerate(lines, 1) for name in names}


def hide_dates(text: str, found: list[FoundEntity]) -> str:
    """Adds the dates of a text to `found`; returns the text with them hidden. Linear."""
    if not _DIGIT.search(text):
        return text

    def take(match: re.Match[str]) -> str:
        if _key(match) is None:
            return match[0]
        found.append(FoundEntity("date", match[0], match.start(), match.end(), 0.9))
        return HIDDEN * len(match[0])

    return _DATE.sub(take, text)


def date_key(text: str) -> str | None:
    """Returns a date as `2023-05-07`, without a year as `--05-07`, without a day as `2023-05`; of a date in figures whose order
    nobody can tell, the text itself. None for what isn't a date. Reads 60 characters."""
    match = _DATE.fullmatch(text[:60])
    return _key(match) if match else None


def _key(match: re.Match[str]) -> str | None:
    part = match.groupdict()
    if part["a"]:
        return _slashed(int(part["a"]), int(part["b"]), part["y2"], match[0])
    for n in "134567":
        year, day = part.get(f"y{n}"), part.get(f"d{n}")
        month = part.get(f"m{n}")
        number = int(month) if month else _month(part.get(f"n{n}"), first=n != "5")
        if number and (year or day):
            return _written(year, number, day)
    return None


def _month(name: str | None, *, first: bool) -> int:
    """The number of a month's name, 0 for another word. `first`: it stands before the day or year, where `may` and `march` in
    lower case are words."""
    if not name or (first and name in _WORDS):
        return 0
    return _months().get(fold(name), 0)


def _slashed(one: int, two: int, year: str, text: str) -> str | None:
    if one > 12 >= two > 0 and one <= 31:
        return _written(year, two, str(one))
    if two > 12 >= one > 0 and two <= 31:
        return _written(year, one, str(two))
    return text if 0 < one <= 12 and 0 < two <= 12 else None


def _written(year: str | None, month: int, day: str | None) -> str:
    return f"{year or '-'}-{month:02}" + (f"-{int(day):02}" if day else "")
