"""Days named in other languages than English, by feasts, and by what stands beside them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.days.beside import besides
from germane.text.days.times import named_days, times
from germane.types.query import Anchor, Days, Term
from support.examples import examples

pytestmark = pytest.mark.requirement("PERSON-5", "SIG-1")

WEDNESDAY = date(2024, 8, 14)
TUESDAY, TUESDAY_OF_LAST_WEEK, MONDAY = date(2024, 8, 13), date(2024, 8, 6), date(2024, 8, 12)
LAST_WEEK = (date(2024, 8, 5), date(2024, 8, 11))
WEEKEND = (date(2024, 8, 10), date(2024, 8, 11))
MAY = (date(2024, 5, 1), date(2024, 5, 31))


def named(text: str, on: date = WEDNESDAY) -> list[date | tuple[date, date]]:
    return [days.first if days.first == days.last else (days.first, days.last) for days in times(text, on)]


def each(day: object, *texts: str) -> list[tuple[str, object]]:
    return [(text, day) for text in texts]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        *each(
            TUESDAY, "yesterday", "gestern", "avant midi, hier nous avons ri", "ayer", "ieri", "ontem", "gisteren", "wczoraj"
        ),
        *each(TUESDAY, "вчера", "dün", "igår", "昨天", "昨日", "어제", "last night", "anoche", "gisteravond", "昨晚"),
        *each(MONDAY, "the day before yesterday", "vorgestern", "avant-hier", "anteayer", "l'altro ieri", "anteontem"),
        *each(MONDAY, "eergisteren", "przedwczoraj", "позавчера", "evvelsi gün", "i förrgår", "前天", "おととい", "그저께"),
        *each(MONDAY, "two days ago", "vor zwei Tagen", "il y a deux jours"),
        *each(MONDAY, "hace dos dias", "due giorni fa", "há dois dias"),
        *each(MONDAY, "twee dagen geleden", "dwa dni temu", "два дня назад"),
        *each(MONDAY, "iki gün önce", "för två dagar sedan", "两天前"),
        *each(MONDAY, "2日前", "이틀 전", "2일 전"),
        *each(
            TUESDAY, "on Tuesday", "am Dienstag", "Dienstagabend", "mardi", "el martes", "martedi", "na terça-feira", "na terça"
        ),
        *each(TUESDAY, "dinsdag", "we wtorek", "во вторник", "salı günü", "i tisdags", "周二", "星期二", "火曜日", "화요일"),
        *each(TUESDAY_OF_LAST_WEEK, "on Tuesday last week", "last week on Tuesday", "Dienstag letzter Woche"),
        *each(TUESDAY_OF_LAST_WEEK, "mardi de la semaine dernière", "el martes de la semana pasada", "上周二", "上個星期二"),
        *each(TUESDAY_OF_LAST_WEEK, "先週の火曜日", "지난주 화요일", "the Tuesday before last"),
        *each(LAST_WEEK, "last week", "letzte Woche", "la semaine dernière", "la semana pasada", "la settimana scorsa"),
        *each(LAST_WEEK, "na semana passada", "vorige week", "w zeszłym tygodniu", "на прошлой неделе", "geçen hafta"),
        *each(LAST_WEEK, "förra veckan", "上周", "先週", "지난주"),
        *each(
            WEEKEND, "over the weekend", "am Wochenende", "le week-end", "el fin de semana", "nel weekend", "no fim de semana"
        ),
        *each(WEEKEND, "in het weekend", "w weekend", "на выходных", "hafta sonu", "i helgen", "周末", "週末", "주말"),
        *each(
            MAY, "in May", "im Mai", "en mai", "en mayo", "a maggio", "em maio", "in mei", "w maju", "в мае", "mayısta", "i maj"
        ),
        *each(MAY, "5月", "五月", "5월"),
        *each(
            date(2024, 5, 3), "3 May", "am 3. Mai", "le 3 mai", "el 3 de mayo", "il 3 maggio", "3 de maio", "3 mei", "3 maja"
        ),
        *each(date(2024, 5, 3), "3 мая", "3 Mayıs", "den 3 maj", "5月3号", "5月3日", "5월 3일", "on the 3rd of May"),
    ],
)
def test_a_day_has_a_name_in_every_language(text: str, day: object) -> None:
    """With accents and without."""
    assert named(text) == [day]


@pytest.mark.parametrize("text", ["Ich wohne hier.", "guten Morgen", "in the next room", "ne bileyim", "la mañana", "한 달"])
def test_what_only_looks_like_a_day_is_none(text: str) -> None:
    """`hier` is "here" in German, `Morgen` a greeting."""
    assert named(text) == []


def test_last_friday_on_a_friday_is_a_week_ago() -> None:
    """In every language that says "last"; without it, the day itself."""
    friday = date(2024, 8, 16)
    for text in ("last Friday", "letzten Freitag", "vendredi dernier", "el viernes pasado", "в прошлую пятницу", "지난 금요일"):
        assert named(text, friday) == [date(2024, 8, 9)]
    assert named("am Freitag", friday) == [friday]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("on Christmas Eve", date(2023, 12, 24)),
        ("an Silvester", date(2023, 12, 31)),
        ("on Good Friday", date(2024, 3, 29)),
        ("lundi de Pâques", date(2024, 4, 1)),
        ("an Pfingsten", (date(2024, 5, 19), date(2024, 5, 20))),
        ("at Easter 2019", (date(2019, 4, 19), date(2019, 4, 22))),
        ("清明", date(2024, 4, 4)),
        ("on Valentine's day", date(2024, 2, 14)),
        ("next Halloween", date(2024, 10, 31)),
        ("at Thanksgiving", date(2023, 11, 23)),
    ],
)
def test_a_feast_is_the_last_one_that_has_begun(text: str, day: object) -> None:
    """Movable ones too; a year or "next" says otherwise."""
    assert named(text) == [day]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the day before Christmas Eve", date(2023, 12, 23)),
        ("the Thursday before Easter 2024", date(2024, 3, 28)),
        ("am Freitag vor Pfingsten", date(2024, 5, 17)),
        ("two days after 28 February 2024", date(2024, 3, 1)),
        ("la veille du 1 janvier 2024", date(2023, 12, 31)),
        ("el día después del 31 de diciembre de 2023", date(2024, 1, 1)),
        ("the week before August 3, 2024", (date(2024, 7, 27), date(2024, 8, 2))),
        ("清明前一天", date(2024, 4, 3)),
    ],
)
def test_a_day_beside_a_day_is_counted_from_it(text: str, day: object) -> None:
    """Across months, leap days and years, and the day beside isn't named itself."""
    assert named(text) == [day]


@pytest.mark.parametrize(
    ("text", "event", "first", "last"),
    [
        ("the day before we moved", "we moved", -1, -1),
        ("the night before my exam", "exam", -1, -1),
        ("three days after the flood", "flood", 3, 3),
        ("the week after the concert", "concert", 1, 7),
        ("am Tag vor dem Umzug", "Umzug", -1, -1),
        ("zwei Tage nach der Prüfung", "Prüfung", 2, 2),
        ("le lendemain du mariage", "mariage", 1, 1),
        ("la noche antes de la boda", "boda", -1, -1),
        ("il giorno dopo la gita", "gita", 1, 1),
        ("за день до отъезда", "отъезда", -1, -1),
        ("dzień przed egzaminem", "egzaminem", -1, -1),
        ("dagen innan flytten", "flytten", -1, -1),
        ("sınavdan bir gün önce", "sınavdan", -1, -1),
        ("搬家前一天", "搬家", -1, -1),
        ("出発の前日", "出発", -1, -1),
        ("이사 전날", "이사", -1, -1),
    ],
)
def test_an_event_that_names_days_is_told_from_its_distance(text: str, event: str, first: int, last: int) -> None:
    """Which day it was, only the store knows."""
    [beside] = besides(text)
    assert (beside.event, beside.first, beside.last) == (event, first, last)
    assert named(text) == []


def test_a_weekday_beside_an_event_is_the_nearest_one() -> None:
    """The Friday before, the Friday after; an event on a Friday isn't beside itself."""
    before = Anchor(event="x", terms=(Term("x", ("x",)),), first=-7, last=-1, weekday=4)
    after = Anchor(event="x", terms=(Term("x", ("x",)),), first=1, last=7, weekday=4)
    friday = date(2024, 8, 16)
    assert before.days(friday) == Days(first=date(2024, 8, 9), last=date(2024, 8, 9))
    assert after.days(friday) == Days(first=date(2024, 8, 23), last=date(2024, 8, 23))
    assert after.days(WEDNESDAY) == Days(first=friday, last=friday)
    with pytest.raises(OverflowError):
        after.days(date.max)


@pytest.mark.parametrize(
    ("text", "sure"),
    [("last Friday", True), ("on Friday", False), ("3 May", False), ("3 May 2024", True), ("gestern", True), ("上周五", True)],
)
def test_days_that_come_again_arent_surely_past(text: str, sure: bool) -> None:
    """`Friday` may be next Friday; `last Friday` can't."""
    assert [one.sure for one in named_days(text, WEDNESDAY)] == [sure]


def test_a_weekday_with_its_date_is_one_day() -> None:
    """The date says which."""
    assert named("on Friday, 3 May 2024") == [date(2024, 5, 3)]
    assert named("am Freitag, den 3. Mai") == [date(2024, 5, 3)]


@pytest.mark.requirement("SCOPE-4")
def test_days_begin_and_end_at_midnight_of_the_zone() -> None:
    """The days on which clocks change have 23 and 25 hours."""
    vienna = ZoneInfo("Europe/Vienna")
    for on, hours in ((date(2024, 3, 31), 23), (date(2024, 10, 27), 25), (date(2024, 8, 14), 24)):
        since, until = (moment.astimezone(UTC) for moment in Days(first=on, last=on).bounds(vienna))
        assert until - since == timedelta(hours=hours)
    assert Days(first=date.min, last=date.min).bounds(UTC)[0] == datetime(1, 1, 1, tzinfo=UTC)


@given(st.text(max_size=80), st.dates())
@examples(150)
def test_any_text_beside_anything_gives_well_formed_days(text: str, on: date) -> None:
    """Numbers without end, dates at the ends of time."""
    for one in named_days(f"99999 days before {text} the day after 31.12.9998 {text} 999 Tage nach Ostern 12", on):
        assert one.days.first <= one.days.last
        assert 0 <= one.start < one.end
