"""Clauses: a text in the pieces that a prompt shows alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.clauses import clauses

TEXTS = st.text(alphabet=st.sampled_from("ab. ,!?\n—-;:、。我たI'éñ1"), max_size=600) | st.text(max_size=300)


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in clauses(text)]


@given(TEXTS)
def test_each_clause_stands_behind_the_one_before_and_says_something(text: str) -> None:
    """Places never overlap, hold a letter or digit, and have no space around them."""
    last = 0
    for start, end in clauses(text):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert any(map(str.isalnum, text[start:end]))
        last = end


@given(TEXTS)
def test_no_letter_is_lost(text: str) -> None:
    kept = "".join(char for piece in pieces(text) for char in piece if char.isalnum())
    assert kept == "".join(filter(str.isalnum, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my dad drove trams. he went at 60. i never learned", ["my dad drove trams.", "he went at 60.", "i never learned"]),
        ("Dr. Moss rang. She says no.", ["Dr. Moss rang.", "She says no."]),
        ("ok!! great stuff", ["ok!! great stuff"]),
        ("... -- !!", []),
        ("我住在四楼 没有电梯。明天去看房", ["我住在四楼 没有电梯。", "明天去看房"]),
    ],
)
def test_people_who_write_without_capitals_end_sentences_too(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_a_long_sentence_is_cut_where_a_clause_begins() -> None:
    text = (
        "We took the flat by the canal because the lift works and the landlord lets us keep the two rabbits, "
        "but the kitchen has no window so I only ever cook things that don't need frying"
    )
    found = pieces(text)
    assert len(found) > 1
    assert all(25 <= len(one) <= 140 for one in found)
    assert found[1].startswith(("but ", "so "))


def test_a_run_without_any_place_to_cut_is_cut_all_the_same() -> None:
    assert max(map(len, pieces("x" * 5_000))) <= 400


def test_one_word_stands_with_what_follows_it() -> None:
    """It says nothing by itself, and may be what matters: "Felixstowe. That's my Mondays now"."""
    text = "Felixstowe. That's my Mondays now. Ha.\nSo what?"
    assert [text[start:end] for start, end in clauses(text)] == ["Felixstowe. That's my Mondays now.", "Ha.", "So what?"]
