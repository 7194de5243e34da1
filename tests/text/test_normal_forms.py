"""Normal forms: folding and content hashes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.normal import composed, content_hash, fold

ANY_TEXT = st.text(st.characters(), max_size=100)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ÉCOLE", "ecole"),
        ("Straße", "strasse"),
        ("Łódź", "lodz"),
        ("ﬁne", "fine"),
        ("İzmir", "izmir"),
        ("दिल्ली", "दिल्ली"),
        ("Ёж", "еж"),
    ],
)
def test_folding_keeps_what_tells_words_apart(text: str, folded: str) -> None:
    """Latin accents and case go, the marks of Indic scripts stay."""
    assert fold(text) == folded


@given(text=ANY_TEXT)
def test_folding_never_fails_on_any_string(text: str) -> None:
    """Lone surrogates included."""
    assert isinstance(fold(text), str)


@given(parts=st.lists(ANY_TEXT, max_size=3))
def test_a_content_hash_fits_a_signed_column(parts: list[str]) -> None:
    """64 bits, signed, for any text."""
    assert -(2**63) <= content_hash(*parts) < 2**63


def test_a_content_hash_sees_through_composition_and_nothing_else() -> None:
    """NFC makes equal what looks equal; where one part ends matters."""
    assert content_hash("user", "café") == content_hash("user", "cafe\u0301")
    assert content_hash("user", "café") != content_hash("user", "cafe")
    assert content_hash("ab", "c") != content_hash("a", "bc")
    assert content_hash("\ud800") != content_hash("\ud801")


def test_piles_of_marks_are_cut_at_thirty() -> None:
    """Sorting marks takes quadratic time; nobody reads thirty of them."""
    assert len(composed("x" + "\u0316\u0301" * 10_000)) <= 32
    assert len(composed("👍" * 100)) == 100
