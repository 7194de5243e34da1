"""Days elsewhere: rules that find days in other languages than English: `letzten Dienstag`, `il y a deux jours`, `20 июля`.

The patterns are written, and searched for, without accents and in lower case (`vocabulary.unaccented`).
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from germane.text.days import calendar
from germane.text.days.dates import DIGIT, Rule, rule, shifted
from germane.text.days.vocabulary import (
    COUNTS,
    LAST_BEFORE,
    LAST_BEHIND,
    LAST_WEEK,
    MONTH_NAMES,
    PARTS_OF_DAY,
    THIS,
    UNITS,
    WEEKDAY_NAMES,
    alternatives,
    unaccented,
)
from germane.types.query import Days

_DAYS_AWAY = {
    unaccented(word).replace("_", " "): days
    for words, days in (
        ("gestern hier_soir ayer anoche ieri ontem gisteren gisteravond wczoraj вчера dün igår i_går أمس", -1),
        ("vorgestern avant-hier anteayer antier altro_ieri altroieri anteontem eergisteren przedwczoraj позавчера", -2),
        ("önceki_gün evvelsi_gün förrgår i_förrgår vorvorgestern_abend", -2),
        ("vorvorgestern trasanteayer", -3),
        ("heute aujourd'hui hoy oggi hoje vandaag dzisiaj dziś сегодня bugün idag i_dag ce_matin ce_soir", 0),
        ("esta_mañana stamattina stasera vanochtend vanmorgen vanmiddag vanavond bu_sabah bu_akşam i_morse i_kväll", 0),
        ("demain domani amanhã jutro завтра yarın imorgon i_morgon übermorgen", 1),
    )
    for word in words.split()
} | {"ubermorgen": 2}
_FIRST_WORDS = " ".join(word.split()[0].replace("'", " ").replace("-", " ") for word in _DAYS_AWAY)
_WEEKDAYS = alternatives(WEEKDAY_NAMES)
_MONTHS = alternatives(MONTH_NAMES)
_UNITS = alternatives(UNITS)
_COUNT = rf"(?P<count>\d{{1,4}}|{alternatives(COUNTS)})"
_BEFORE, _BEHIND = alternatives(LAST_BEFORE), alternatives(LAST_BEHIND)
_JOINED = (
    "abend",
    "fruh",
    "mittag",
    "morgen",
    "nachmittag",
    "nacht",
    "vormittag",
    "avond",
    "middag",
    "ochtend",
    "kvall",
    "natt",
)
WEEKDAY_ELSEWHERE = rf"(?P<weekday>{_WEEKDAYS})(?:{alternatives(_JOINED)}| {PARTS_OF_DAY})?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\w)"
_IN = r"(?:im|in|en|em|nel|a|w|we|в|во|i|au mois de|seit|desde|depuis|od)"
_TURKISH_MONTHS = "ocak|subat|mart|nisan|mayis|haziran|temmuz|agustos|eylul|ekim|kasim|aralik"
_SUFFIXED = " ".join(f"{day}{part}" for name in WEEKDAY_NAMES for day in name.split("-") for part in ("", *_JOINED))
_SWEDISH_LAST = re.compile(r"(?:man|tis|ons|tors|fre|lor|son)dags")
_WORD = re.compile(r"[^\W\d_]+")
_FRENCH_WORDS = "ai avons avait avais avions que quoi qu je nous tu vous est etait dit parle soir matin discute demande fait ce"
_FRENCH = frozenset(_FRENCH_WORDS.split())
"""Words that tell the French "hier" from the German one, which means "here"."""


def _day_away(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.day(today + timedelta(days=_DAYS_AWAY[match[0]])),)


def _tomorrow(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.day(today + timedelta(days=1)),)


def _hier(match: re.Match[str], today: date) -> tuple[Days, ...]:
    if _FRENCH.isdisjoint(_WORD.findall(match.string)):
        raise ValueError(match[0])
    return (calendar.day(today - timedelta(days=1)),)


def _weekday(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """Before today where the words say "last"; otherwise the most recent such day, today included."""
    name = match["weekday"]
    last = bool(match["which"] or match["behind"] or _SWEDISH_LAST.fullmatch(name))
    number = WEEKDAY_NAMES[name if name in WEEKDAY_NAMES else f"{name}-feira"]
    since = (today.weekday() - number) % 7
    return (calendar.day(today - timedelta(days=since or 7 * last)),)


def _weekday_of_last_week(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.weekday(today - timedelta(days=7), WEEKDAY_NAMES[match["weekday"]]),)


def _ago(match: re.Match[str], today: date) -> tuple[Days, ...]:
    written = match["count"] or "1"
    return (shifted(UNITS[match["unit"]], -(int(written) if written.isdecimal() else COUNTS[written]), today),)


def _last(match: re.Match[str], today: date) -> tuple[Days, ...]:
    unit = UNITS[match["unit"]]
    if unit == "day":
        raise ValueError(match[0])
    if unit == "weekend" and today.weekday() < 5:  # the last one is over, and this week's hasn't begun
        return (calendar.weekend(today - timedelta(days=7)),)
    return (shifted(unit, -1, today),)


def _this(match: re.Match[str], today: date) -> tuple[Days, ...]:
    unit = UNITS[match["unit"]]
    if unit == "day":
        raise ValueError(match[0])
    return (shifted(unit, 0, today),)


def _weekend(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.weekend(today if today.weekday() >= 5 else today - timedelta(days=7)),)


def _named_day(match: re.Match[str], today: date) -> tuple[Days, ...]:
    month, day = MONTH_NAMES[match["month"]], int(match["day"])
    year = int(match["year"]) if match["year"] else calendar.last_named(today, month, day)
    return (calendar.day(date(year, month, day)),)


def _named_month(match: re.Match[str], today: date) -> tuple[Days, ...]:
    month = MONTH_NAMES[match["month"]]
    year = int(match["year"]) if match["year"] else calendar.last_named(today, month)
    if not match["year"] and month == today.month and (match["which"] or match["behind"]):
        year -= 1
    return (calendar.month(year, month),)


_MONTH_WORDS, _LAST_WORDS = " ".join(MONTH_NAMES), " ".join(LAST_BEFORE)
_UNIT_WORDS = " ".join(UNITS).replace("-", " ")
_WEEK_WORDS = "woche semaine semana settimana week tygodniu tygodnia неделе недели hafta veckan"

ELSEWHERE: tuple[Rule, ...] = (
    rule(rf"\b{WEEKDAY_ELSEWHERE},? (?P<week>{LAST_WEEK})\b", _weekday_of_last_week, _SUFFIXED, _WEEK_WORDS),
    rule(
        rf"\b(?P<week>{LAST_WEEK}),? (?:(?:am|le|el|op|på|pa|we?|во?|na) )?{WEEKDAY_ELSEWHERE}\b",
        _weekday_of_last_week,
        _SUFFIXED,
        _WEEK_WORDS,
    ),
    rule(
        rf"\b(?P<day>3[01]|[12]\d|0?[1-9])(?:\. ?|(?:er|e|º|°|ª)? )(?:de |del )?(?P<month>{_MONTHS})\b"
        rf"(?:,? (?:de |del )?{_YEAR})?",
        _named_day,
        _MONTH_WORDS,
        DIGIT,
    ),
    rule(
        rf"\b(?:(?P<which>{_BEFORE}) |{_IN} )(?P<month>{_MONTHS})\b(?: (?P<behind>{_BEHIND}))?"
        rf"(?: (?:de |del )?{_YEAR})?",
        _named_month,
        _MONTH_WORDS,
    ),
    rule(rf"\b(?P<which>)(?P<behind>)(?P<month>{_MONTHS}) (?:de |del )?{_YEAR}", _named_month, _MONTH_WORDS, DIGIT),
    rule(rf"\b(?P<which>)(?P<behind>)(?P<year>)(?P<month>{_TURKISH_MONTHS})(?:'?[td][ae]| ayinda)\b", _named_month),
    rule(
        r"\b(?:na|nesta|(?P<which>ultima)) (?P<weekday>segunda|terca|quarta|quinta|sexta)\b(?: (?P<behind>passada)\b)?"
        r"(?! (?:vez|parte|metade|fase|rua|edicao|serie|temporada|feira))",
        _weekday,
        "segunda terca quarta quinta sexta",
    ),
    rule(
        rf"\b(?:(?P<which>{_BEFORE}) )?{WEEKDAY_ELSEWHERE}\b(?: (?P<behind>{_BEHIND})\b)?",
        _weekday,
        _SUFFIXED,
    ),
    rule(
        rf"\b(?:vor|il y a|ca fait|hace|ha|faz|for) {_COUNT} (?P<unit>{_UNITS})\b(?: sedan)?",
        _ago,
        "vor il ca hace ha faz for",
        _UNIT_WORDS,
    ),
    rule(
        rf"(?<![dt][ae]n )(?<![dt][ae]n (?:bir|iki) )\b(?:{_COUNT} )?(?P<unit>{_UNITS}) "
        r"(?:fa|geleden|temu|назад|once|atras|sedan|tillbaka)\b",
        _ago,
        "fa geleden temu назад once atras sedan tillbaka",
        _UNIT_WORDS,
    ),
    rule(rf"\b(?:{_BEFORE}) (?P<unit>{_UNITS})\b", _last, _LAST_WORDS, _UNIT_WORDS),
    rule(
        rf"\b(?P<unit>{_UNITS}) (?:{_BEHIND})\b",
        _last,
        " ".join(LAST_BEHIND),
        _UNIT_WORDS,
    ),
    rule(rf"\b(?:vorige|vorig|afgelopen) (?P<unit>{_UNITS})\b", _last, "vorige vorig afgelopen", _UNIT_WORDS),
    rule(rf"\b(?:{alternatives(THIS)}) (?P<unit>{_UNITS})\b", _this, " ".join(THIS).replace("'", ""), _UNIT_WORDS),
    rule(
        r"\b(?P<weekend>(?:am|le|ce|el|nel|no|in het|in|w|en|i) (?:wochenende|week-?end|helgen|helg)"
        r"|(?:на|в) (?:эти )?выходны[ех]"
        r"|hafta ?sonu(?:nda)?|fin de semana|fine settimana|fim de semana)\b",
        _weekend,
        "wochenende week weekend fin fine fim helgen helg выходных выходные hafta haftasonu haftasonunda",
    ),
    rule(
        r"(?<!guten )(?<!heute )(?<!am )(?<!jeden )(?<!goede )(?<!dieser )(?<!gestern )\bmorgen\b(?! ist)",
        _tomorrow,
        "morgen",
    ),
    rule(
        rf"\b(?:{alternatives(_DAYS_AWAY)})(?!\w)",
        _day_away,
        _FIRST_WORDS,
    ),
    rule(r"\bhier\b", _hier, "hier"),
    rule(
        r"(?<!la )(?<!una )(?<!esta )(?<!cada )\bmanana\b",
        _tomorrow,
        "manana",
    ),
)
"""The rules in the order in which they are tried, on a text without accents."""
