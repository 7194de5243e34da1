"""Exclusive: which instructions can't be followed together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.extraction.memories.plans import alternatives


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Always answer in German", "from now on, answer in french"),
        ("From now on, please always reply to me in English", "always reply to me in japanese"),
        ("use imperial units", "from now on use metric units"),
        ("Always show temperatures in Celsius", "always show temperatures in fahrenheit"),
        ("Always use British spelling", "always use american spelling"),
        ("Antworte mir bitte immer auf Englisch", "antworte mir bitte immer auf deutsch"),
        ("Réponds-moi toujours en français", "réponds-moi toujours en anglais"),
        ("Responde siempre en español", "responde siempre en inglés"),
    ],
)
def test_the_alternatives_of_an_instruction(text: str, other: str) -> None:
    """The same in another language or unit, with any beginning; never the instruction itself."""
    found = alternatives(text)
    assert other in found
    assert text.casefold() not in found
    assert len(found) < 100


@pytest.mark.parametrize(
    "text",
    [
        "Never answer in German",
        "Always answer in German when I write German",
        "Always answer in German and English",
        "Always translate German to English",
        "Always include the German name",
        "Use metric",
        "Always use metric tons",
    ],
)
def test_other_instructions_have_none(text: str) -> None:
    """But for a bare unit, any further word makes it another instruction."""
    assert bool(alternatives(text)) == (text == "Use metric")


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """The alternatives of an alternative hold nothing that the reader couldn't write."""
    for one in alternatives(text):
        assert alternatives(one)
