"""Splitting a long text into parts that can be processed one by one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.normal import MAX_BLOCK, blocks

PIECES = st.sampled_from(
    ["abc ", "de\n", "漢字", "e\u0301", "각", "\u1100\u1161\u11a8", "👨\u200d👩", "नमस्ते", "\ud800", "x" * 900]
)


@given(st.lists(PIECES, min_size=1, max_size=30), st.integers(1, 300))
def test_parts_are_bounded_and_make_up_the_text(pieces: list[str], times: int) -> None:
    text = "".join(pieces) * times
    parts = list(blocks(text))
    assert "".join(parts) == text
    assert all(len(part) <= MAX_BLOCK for part in parts)


@given(st.lists(PIECES, min_size=1, max_size=30))
def test_the_normal_form_of_the_parts_is_that_of_the_text(pieces: list[str]) -> None:
    """So a hash of the parts is a hash of the text."""
    text = "".join(pieces) * (3 * MAX_BLOCK // len("".join(pieces)) + 1)
    parts = [unicodedata.normalize("NFC", part) for part in blocks(text)]
    assert "".join(parts) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", ["", "a", " " * MAX_BLOCK])
def test_a_short_text_is_one_part(text: str) -> None:
    assert list(blocks(text)) == ([text] if text else [""])


def test_words_stay_whole_where_there_is_white_space() -> None:
    words = " ".join(f"word{number}" for number in range(9000))
    assert [word for part in blocks(words) for word in part.split()] == words.split()
