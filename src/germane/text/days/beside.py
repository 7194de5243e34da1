"""Beside: finds days that are named by something beside them: `the day before we left`, `zwei Tage nach Ostern`.

What stands beside may be a day of the calendar, which `times.py` resolves, or an event, whose day only the store knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from germane.text.days.calendar import WEEKDAYS
from germane.text.days.vocabulary import COUNTS, WEEKDAY_NAMES, alternatives, unaccented
from germane.types.query import Anchor, Days

_BEFORE = """
    before vor bevor avant antes prima voor voordat przed zanim перед до fore innan
"""
_AFTER = """
    after following nach nachdem apres despues dopo depois na nadat po после efter
"""
_DAYS = """
    day days night nights evening evenings morning tag tage tagen abend nacht jour jours soir nuit dia dias noche tarde giorno
    giorni sera notte noite dag dagen dagar avond dzien dni wieczor wieczorem noc день дня дней вечер вечером ночь ночью kvall
    kvallen natt natten
"""
_WEEKS = """
    week weeks woche wochen semaine semaines semana semanas settimana settimane weken tydzien tygodnie неделю недели недель
    vecka veckan veckor
"""
_SIDES = dict.fromkeys(_BEFORE.split(), -1) | dict.fromkeys(_AFTER.split(), 1)
_UNITS = dict.fromkeys(_DAYS.split(), 1) | dict.fromkeys(_WEEKS.split(), 7)
_ENGLISH_COUNTS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "a couple of": 2}
_COUNTS = {**COUNTS, **_ENGLISH_COUNTS}
_WEEKDAYS = {**WEEKDAY_NAMES, **{name: number for number, name in enumerate(WEEKDAYS)}}
_LONE_NAMES = {
    "veille": -1, "avant-veille": -2, "lendemain": 1, "vispera": -1, "vespera": -1, "przeddzien": -1, "накануне": -1,
    "vorabend": -1, "dia siguiente": 1, "dia seguinte": 1, "eve of": -1,
}  # fmt: skip
_EVENT = r"(?P<event>[^,.;:!?\n]{2,60})"
_AWAY = (
    r"(?:(?P<lone>{lone})|(?:(?P<count>\d{{1,3}}|{counts}) )?(?:(?P<unit>{units})|(?P<weekday>{weekdays})) (?P<side>{sides}))"
)
_BEFORE_ITS_EVENT = re.compile(
    r"\b" + _AWAY.format(
        lone=alternatives(_LONE_NAMES), counts=alternatives(_COUNTS), units=alternatives(_UNITS),
        weekdays=alternatives(_WEEKDAYS), sides=alternatives(_SIDES),
    ) + r"\b ?" + _EVENT
)  # fmt: skip
_DAY_OF = re.compile(
    r"\b(?:the|on the) (?:day|night|evening|morning) (?:of |that |when )?"
    r"(?P<event>(?:the|my|our|we|i|mum|mom|dad|he|she|they)\b[^,.;:!?\n]{2,60})"
    r"|\bam tag (?:der|des|als|an dem|von) (?P<german>[^,.;:!?\n]{2,60})"
    r"|\b(?:le jour (?:de|du|des|ou)|el dia (?:de|del|que)|il giorno (?:di|del|della|in cui)|no dia (?:de|do|da|em que)) "
    r"(?P<romance>[^,.;:!?\n]{2,60})"
)
_TURKISH = re.compile(
    r"\b(?P<event>\w{1,30}(?: \w{1,30}){0,3}?) (?:(?P<count>bir|iki|uc|dort|bes|\d{1,3}) )?"
    r"(?:(?P<unit>gun|gece|aksam|hafta) (?P<side>once|sonra)|(?P<side2>onceki|sonraki) (?P<unit2>gun|gece|aksam|hafta))\b"
)
_UNSPACED = re.compile(
    r"(?P<event>[^，。、！？\s,.?!]{1,16}?)[的の]?(?:(?P<day_before>前一天|前一晚|前一个晚上|前の?日|前日|前の晩|前夜)"
    r"|(?P<day_after>后一天|後一天|第二天|翌日|次の日)|(?P<that_day>那天|那晚|当天|當天|当日)"
    r"|(?P<far>前|后|後)(?P<count>[一二两三四五六七八九十]|\d{1,2})天)"
)
_KOREAN = re.compile(
    r"(?P<event>[^\s,.?!]{1,16}(?: [^\s,.?!]{1,16}){0,2}?) ?(?:(?P<day_before>전날)|(?P<day_after>다음 ?날)|(?P<that_day>당일))"
)
_CHINESE = "一二三四五六七八九十"
_TOPIC = re.compile(r" (?:about|regarding|concerning|uber|wegen|sobre|acerca|a propos|riguardo|over|про|насчет) ")
"""What comes behind these words is no part of the event."""
_FILLERS = re.compile(
    r"(?:(?:de|del|della|dello|di|da|do|dos|das|du|des|la|le|les|el|los|las|il|lo|die|der|dem|den|the|my|our|that|que|che|het|av"
    r"|att|mein|meine|meinem|meiner|unsere|unserer|unserem|tym|как|тем)\b|d'|l'|dell') ?"
)


class Beside(NamedTuple):
    """Words between `start` and `end` that name days by an event. `behind`: what names the days stands behind the event."""

    start: int
    end: int
    event: str
    event_start: int
    first: int
    last: int
    weekday: int | None = None
    behind: bool = False

    def days(self, of: Days) -> Days | None:
        """The days meant where these are the days of what stands beside; None beyond the calendar."""
        anchor = Anchor(event=self.event, terms=(), first=self.first, last=self.last, weekday=self.weekday)
        try:
            return anchor.days(of.first if self.last < 0 else of.last if self.first > 0 else of.first)
        except OverflowError:
            return None


def besides(text: str) -> tuple[Beside, ...]:
    """What names days by something beside them, in the order of the text."""
    low = unaccented(text)
    if text.isascii() and not _may_name(low):
        return ()
    found = [*_in_front(text, low), *_behind(text, low)]
    return tuple(sorted(found, key=lambda one: one.start))


def _may_name(low: str) -> bool:
    return any(map(low.__contains__, _HINTS))


_HINTS = (
    *(
        "before ",
        "after ",
        "following ",
        "vor ",
        "bevor ",
        "nach ",
        "avant ",
        "apres ",
        "antes ",
        "despues ",
        "prima ",
        "dopo ",
    ),
    *(
        "depois ",
        "voor ",
        "na ",
        "przed ",
        "po ",
        "fore ",
        "innan ",
        "efter ",
        "once",
        "sonra",
        "veille",
        "lendemain",
        "vispera",
    ),
    *("vespera", "przeddzien", "vorabend", "siguiente", "seguinte", "eve of", "day ", "night ", "evening ", "morning ", "tag "),
    *("jour ", "dia ", "giorno "),
)


def _in_front(text: str, low: str) -> Iterator[Beside]:
    for match in _BEFORE_ITS_EVENT.finditer(low):
        start, end = _event(low, match, "event")
        event = text[start:end].strip(), start
        if lone := match["lone"]:
            yield Beside(match.start(), end, *event, _LONE_NAMES[lone], _LONE_NAMES[lone])
        elif weekday := match["weekday"]:
            before = _SIDES[match["side"]] < 0
            yield Beside(match.start(), end, *event, -7 if before else 1, -1 if before else 7, _WEEKDAYS[weekday])
        else:
            yield Beside(match.start(), end, *event, *_away(match["unit"], match["count"], _SIDES[match["side"]]))
    for match in _DAY_OF.finditer(low):
        group = next(name for name in ("event", "german", "romance") if match[name])
        start, end = _event(low, match, group)
        yield Beside(match.start(), end, text[start:end].strip(), start, 0, 0)


def _away(unit: str, count: str | None, side: int) -> tuple[int, int]:
    """`the day before` is one day, `two days before` the second; `the week before` is seven days, `two weeks before` the days
    around it."""
    number = int(count) if count and count.isdecimal() else _COUNTS.get(count or "", 1)
    length = _UNITS[unit]
    if length == 1:
        return side * number, side * number
    if number == 1:
        return (-7, -1) if side < 0 else (1, 7)
    return side * 7 * number - 3, side * 7 * number + 3


def _event(low: str, match: re.Match[str], group: str) -> tuple[int, int]:
    """Where the words of the event begin and end."""
    start, end = match.span(group)
    while filler := _FILLERS.match(low, start, end):
        start = filler.end()
    if topic := _TOPIC.search(low, start, end):
        end = topic.start()
    return start, end


def _behind(text: str, low: str) -> Iterator[Beside]:
    for match in _TURKISH.finditer(low):
        side = -1 if "once" in (match["side"] or match["side2"]) else 1
        unit, count = match["unit"] or match["unit2"], match["count"]
        number = int(count) if count and count.isdecimal() else COUNTS.get(count or "", 1)
        first, last = (side * number,) * 2 if unit != "hafta" else (-7, -1) if side < 0 else (1, 7)
        if match["side2"] or match["event"].endswith(("dan", "den", "tan", "ten")):
            yield Beside(*match.span(), text[slice(*match.span("event"))], match.start("event"), first, last, None, True)
    if text.isascii():
        return
    for pattern in (_UNSPACED, _KOREAN):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            away = -1 if groups["day_before"] else 1 if groups["day_after"] else 0
            if groups.get("far"):
                count = groups["count"].replace("两", "二")
                number = int(count) if count.isdecimal() else _CHINESE.index(count) + 1
                away = -number if groups["far"] == "前" else number
            yield Beside(*match.span(), match["event"], match.start("event"), away, away, None, True)
