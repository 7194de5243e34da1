"""Whether a request asks about a past day: what was said, done or known then."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from germane.stages.read.asks import asked_day
from germane.text.days.times import named_days
from germane.text.specifics import word_count
from germane.types.query import DayAsked

pytestmark = pytest.mark.requirement("PERSON-5")

THURSDAY = date(2025, 11, 20)


def asked(text: str) -> DayAsked | None:
    return asked_day(text, named_days(text, THURSDAY), THURSDAY, word_count(text))


@pytest.mark.parametrize(
    "text",
    [
        "what did I ask you to sort out on Monday",
        "did we settle on a colour last week?",
        "anything from yesterday?",
        "recap last weekend for me",
        "which bits had I left over on 2 November",
        "Was hatte ich dir am Montag aufgetragen?",
        "habe ich gestern was vergessen",
        "qu'est-ce que je voulais faire lundi",
        "De quoi avons-nous discuté avant-hier ?",
        "qué te pedí el lunes",
        "de que hablamos la semana pasada",
        "cosa avevamo deciso lunedì?",
        "o que combinamos na segunda-feira?",
        "wat had ik je maandag gevraagd",
        "o czym ci pisałam w poniedziałek",
        "что я просил тебя найти в понедельник",
        "pazartesi günü sana ne sordum",
        "vad bad jag dig om i måndags",
        "周一我让你查了什么",
        "月曜日に何を頼んだっけ？",
        "월요일에 내가 뭐 부탁했지?",
    ],
)
def test_a_question_about_a_past_day_is_told(text: str) -> None:
    """In the words of thirteen languages, with a question mark and without."""
    found = asked(text)
    assert found is not None
    assert all(days.last < THURSDAY for days in found.days)


@pytest.mark.parametrize(
    "text",
    [
        "remind me about the bins on Monday",
        "lunch on Friday?",
        "what should I pack on Monday",
        "Is the shop open on Sunday?",
        "yesterday the drain blocked. how do I clear it",
        "yesterday i burnt the milk, how do I clean the pot",
        "I wrote this last Tuesday, make it shorter: we met at noon",
        "who won the cup yesterday?",
        "What happened in the world of chess last week?",
        "was koche ich am Montag",
        "was haben wir am Montag vor",
        "qu'est-ce que j'ai lundi",
        "qué hago el lunes",
        "cosa faccio lunedì",
        "co robić w poniedziałek",
        "что делать в понедельник",
        "周一吃什么",
        "月曜日に何を食べよう",
        "what did I say?",
        "what did we do in 2019",
    ],
)
def test_a_day_of_the_future_and_a_day_in_passing_arent_asked_about(text: str) -> None:
    """Nor is a day of the world's, nor a whole year, whose messages words must find."""
    assert asked(text) is None


def test_a_request_that_brings_its_own_text_asks_about_none_of_its_days() -> None:
    """Somebody else's questions may stand in it."""
    assert asked("Translate this letter. " + "What did you do yesterday, my dear friend? " * 12) is None


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("what did I say yesterday", ()),
        ("Was habe ich gestern gesagt?", ()),
        ("昨天我说了什么", ()),
        ("what did I tell you about the kayak yesterday", ("kayak",)),
        ("was habe ich gestern zum Kajak gesagt", ("kajak",)),
    ],
)
def test_the_topic_is_what_is_asked_about_besides_the_day(text: str, topic: tuple[str, ...]) -> None:
    """Words that ask, and words such as "say", are none."""
    found = asked(text)
    assert found is not None
    assert tuple(term.word for term in found.topic) == topic


def test_a_weekday_that_is_today_may_be_a_week_ago() -> None:
    found = asked("what did I tell you on Thursday")
    assert found is not None
    assert [days.first for days in found.days] == [THURSDAY, THURSDAY - timedelta(days=7)]


def test_a_span_that_runs_ends_today() -> None:
    """What will be said this week isn't known."""
    found = asked("what have I told you this week")
    assert found is not None
    assert [(days.first, days.last) for days in found.days] == [(date(2025, 11, 17), THURSDAY)]


def test_an_event_names_a_day_where_the_past_is_asked_about() -> None:
    """`before we leave` is still to come."""
    found = asked("what was I worried about the night before the recital")
    assert found is not None
    assert [(anchor.event, anchor.first) for anchor in found.anchors] == [("recital", -1)]
    assert asked("what should I pack the night before the recital") is None


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("what did you suggest on Monday", True),
        ("what was your advice yesterday", True),
        ("was hattest du mir am Montag geraten", True),
        ("what did I suggest on Monday", False),
        ("what did I have you look up yesterday", False),
    ],
)
def test_what_the_assistant_said_is_asked_for_where_the_words_say_so(text: str, answers: bool) -> None:
    found = asked(text)
    assert found is not None
    assert found.answers == answers
