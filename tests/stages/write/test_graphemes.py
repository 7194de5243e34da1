"""Where text may be cut."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.write import escape
from germane.stages.write.escape import clip, grapheme_floor

WHOLE = ["e\u0301", "👩‍👩‍👧", "👍🏽", "🇦🇹", "क्ष", "각", "\u1100\u1161\u11a8", "❤️", "\r\n", "נִ", "1️⃣"]


@pytest.mark.requirement("PACK-5")
@pytest.mark.parametrize("cluster", WHOLE)
def test_what_a_reader_sees_as_one_is_never_cut(cluster: str) -> None:
    """Every place inside moves back to before it."""
    text = f"ab{cluster}cd"
    assert {grapheme_floor(text, at) for at in range(2, 2 + len(cluster))} == {2}
    assert grapheme_floor(text, 2 + len(cluster)) == 2 + len(cluster)


def test_flags_are_cut_between_pairs() -> None:
    """Four indicators are two flags."""
    assert grapheme_floor("🇦🇹🇩🇪", 2) == 2
    assert grapheme_floor("🇦🇹🇩🇪", 3) == 2


@given(st.text(max_size=40), st.integers(0, 50))
def test_the_place_is_in_the_text_and_not_after_what_was_asked(text: str, index: int) -> None:
    """And no mark is left without what it stands on."""
    at = grapheme_floor(text, index)
    assert 0 <= at <= min(index, len(text)) or at == len(text) <= index
    if 0 < at < len(text):
        assert not unicodedata.category(text[at]).startswith("M")


def test_a_heap_of_marks_is_torn_rather_than_followed_for_ever() -> None:
    """Thousands of marks on one letter are not a word."""
    assert grapheme_floor("a" + "\u0301" * 5000, 4000) > 3000


@pytest.mark.parametrize("char", ["\U0001f1e6", "\u0301", "\u200d", "\U0001f3fd", "\u1161", "\u094dक", "a"])
def test_cutting_piece_after_piece_looks_at_each_character_a_few_times(char: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of flags isn't followed back to its beginning from each place in it."""
    looks = 0
    whether = escape._flag

    def counted(char: str) -> bool:
        nonlocal looks
        looks += 1
        return whether(char)

    monkeypatch.setattr(escape, "_flag", counted)
    text, start = char * 8_000, 0
    while start < len(text):
        start = max(grapheme_floor(text, start + 24, start), start + 24)
    clip(text, len(text) - 1)
    assert looks <= 12 * len(text)


@given(st.text(st.sampled_from("ab\u0301\U0001f1e6\u200d👩"), max_size=60))
def test_where_a_text_may_be_cut_does_not_depend_on_where_looking_began(text: str) -> None:
    """A place before is taken for what it is."""
    before = 0
    for index in range(1, len(text)):
        assert grapheme_floor(text, index, before) == max(grapheme_floor(text, index), before)
        before = index if grapheme_floor(text, index) == index else before


def test_clipping_counts_graphemes() -> None:
    """The marker is one of them."""
    assert clip("👩‍👧" * 5, 3) == "👩‍👧👩‍👧…"
    assert clip("abc", 3) == "abc"
    assert clip("e\u0301" * 3, 3) == "e\u0301" * 3
