"""Containment: the answer's own words in the added text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.answers import contained, words_shared

pytestmark = pytest.mark.requirement("EVAL-1")


@pytest.mark.parametrize(
    ("answer", "text", "found"),
    [
        ("A greyhound.", "[a1] Ann: I adopted the GREYHOUND!", True),
        ("art", "We started early.", False),
        ("7 May, 2023", "It was on 7 May 2023, a Sunday", True),
        ("Zoë", "Zoe\u0308 came by", True),
        ("東京", "昨日東京へ行った", True),
        ("", "anything", None),
        ("?!", "anything", None),
    ],
)
def test_an_answer_is_contained_as_whole_words_however_it_is_spelt(answer: str, text: str, found: bool | None) -> None:
    """Case, punctuation, accents' composition and articles don't count; an answer without a word isn't judged."""
    assert contained(answer, text) is found


def test_content_words_are_compared_by_their_stems() -> None:
    """Stop words are ignored in the answer and in the text."""
    assert words_shared("adopting the greyhounds", "I adopted it: a greyhound") == 1.0
    assert words_shared("adopted a parrot", "She adopted a greyhound") == 0.5
    assert words_shared("to be", "to be or not") is None


@given(st.text(max_size=40), st.text(max_size=80))
def test_any_text_can_be_asked_for_and_looked_through(answer: str, text: str) -> None:
    """Nothing raises, and what holds the answer word for word holds its words."""
    share = words_shared(answer, text)
    assert share is None or 0 <= share <= 1
    assert contained(answer, f"{text} {answer} {text}") in (True, None)
