"""Levelled: what a text looks like to rules (PERSON-6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.extraction.memories.extract import extract
from germane.text.own_words.own_words import level_text

pytestmark = pytest.mark.requirement("PERSON-6")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("I’m from Ghana, it’s hot", "I'm from Ghana, it's hot"),
        ("J’habite ici\u202f!", "J'habite ici !"),
        ("• I live here", "  I live here"),
        ("12) [x] done", "        done"),
        ("😀 I live here", "  I live here"),
        ("Great! 😀 I live here", "Great!   I live here"),
        ("I love 🍕 here", "I love 🍕 here"),
        ("🙄 I love it", "🙄 I love it"),
        ("I LIVE IN LEEDS", "I Live in Leeds"),
        ("NASA and ESA", "NASA and ESA"),
        ("I live here full stop I work there", "I live here.          I work there"),
        ("I live in Leeds I work nights", "I live in Leeds\nI work nights"),
        ("I live in Leeds my dog is called Rex", "I live in Leeds\nmy dog is called Rex"),
        ("ich wohne in Graz ich arbeite nachts", "ich wohne in Graz\nich arbeite nachts"),
        ("j'habite à Lyon je travaille la nuit", "j'habite à Lyon\nje travaille la nuit"),
        ("I like the food I cook", "I like the food I cook"),
        ("I think I live here", "I think I live here"),
        ("I know what I like", "I know what I like"),
    ],
)
def test_a_text_is_levelled(text: str, level: str) -> None:
    """Apostrophes, bullets, emoji, capitals, dictated marks, statements in one breath."""
    assert level_text(text) == level


@given(st.text() | st.text(alphabet="I ’m😀.\n-•1)LEDSab", max_size=80))
def test_each_character_keeps_its_place(text: str) -> None:
    """Places in the levelled text are places in the text."""
    assert len(level_text(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("I live in Leeds I work as a nurse and my daughter is called Posy", {"Leeds", "nurse", "Posy"}),
        ("I live in Leeds full stop I’m allergic to peanuts full stop", {"Leeds", "peanuts"}),
        ("MY DOG IS CALLED REX", {"REX"}),
        ("I LIVE IN LEEDS", {"LEEDS"}),
        ("facts:\n• I live in Leeds\n2) I’m allergic to peanuts", {"Leeds", "peanuts"}),
        ("🎉 I’m allergic to peanuts", {"peanuts"}),
    ],
)
def test_what_is_stated_is_found_however_it_is_typed(text: str, stated: set[str]) -> None:
    """The words as they were typed."""
    assert stated <= {one.text for one in extract(text)}
