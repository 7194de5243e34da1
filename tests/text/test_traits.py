"""Traits: the facts about a text that are stored as evidence."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from germane.text.specifics import capitals, is_question, temporal, word_count
from support.examples import examples


@pytest.mark.parametrize(
    "text",
    [
        "How are you?",
        "Nice! What have you been up to lately",
        "你好吗？",
        "你吃了吗",
        "هل أنت بخير؟",
        "is it raining",
        "Πού είναι;",
        "Really? :)",
        'He said "why?"',
    ],
)
def test_questions_are_told_in_any_script(text: str) -> None:
    """A question mark at the end, or the opening of a question."""
    assert is_question(text)


@pytest.mark.parametrize("text", ["When I was young, we moved.", "I went home.", "", "What a day!", "Why? Because I can."])
def test_statements_are_not_questions(text: str) -> None:
    """A question word alone doesn't ask."""
    assert not is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "I went yesterday",
        "two weeks ago we met",
        "in May I swam",
        "since 2019",
        "last week was hard",
        "at 10:30",
        "我昨天去了",
        "el 7th",
        "вчера был дождь",
    ],
)
def test_words_of_time_are_seen(text: str) -> None:
    """Days, spans, months, years, clock times."""
    assert temporal(text)


@pytest.mark.parametrize("text", ["I may go", "a weekly mayor", "number 12345", "the date palm", ""])
def test_other_words_are_not_of_time(text: str) -> None:
    """Whole words only."""
    assert not temporal(text)


SPAN = re.compile(r"\b(?:last|couple of|\d{1,9}) (?:days?|weeks?|times?)\b", re.IGNORECASE)
NUMBER = re.compile(r"(?<!\d)(?:(?:19|20)\d\ds?|\d{1,2}:\d\d|\d{1,2}(?:st|nd|rd|th))(?![\w])", re.IGNORECASE)
PIECES = [
    "last",
    "Couple of",
    "day",
    "WEEKS",
    "time",
    "1",
    "12",
    "123456789",
    "1999",
    "2010s",
    ":45",
    "1st",
    "22nd",
    "x",
    "_",
    "-",
    " ",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
@examples(500)
@example("Couple of days")
@example("x123456789 days")
@example("123456789 days")
def test_spans_and_numbers_are_whole_words(text: str) -> None:
    """The search from the unit, and from the digit, finds what a search from each character would."""
    assert temporal(text) == (SPAN.search(text) is not None or NUMBER.search(text) is not None)


def test_capitals_are_counted_inside_sentences_only() -> None:
    """Not the first word, not "I"."""
    assert capitals("Yesterday Melanie and I saw Caroline. Then I left") == 2


def test_words_are_counted_in_scripts_without_spaces_too() -> None:
    """Two characters count as one word."""
    assert word_count("one two three") == 3
    assert word_count("我昨天养了一只猫") >= 4


@given(text=st.text(st.characters(), max_size=200))
@examples(200)
def test_traits_never_fail_on_any_string(text: str) -> None:
    """Lone surrogates included."""
    assert isinstance(is_question(text), bool)
    assert isinstance(temporal(text), bool)
    assert 0 <= capitals(text) <= len(text) // 2
    assert len(text.split()) <= word_count(text) <= len(text)
