"""Normal forms: folding and content hashes."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.normal import _TIDY, Form, content_hash, fold, is_normalised, normalised, unpiled, wide

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


@given(text=st.text(st.one_of(st.characters(), st.sampled_from([*map(chr, _TIDY)])), max_size=20))
def test_a_text_without_characters_to_tidy_is_what_tidying_would_make_it(text: str) -> None:
    assert wide(text) == normalised(text, "NFKC").translate(_TIDY)


def test_each_character_to_tidy_is_seen_alone_among_others() -> None:
    for text in (f"é{chr(code)}é" for code in _TIDY):
        assert wide(text) == normalised(text, "NFKC").translate(_TIDY)


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


FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")


def test_no_character_makes_a_pile_that_is_not_cut() -> None:
    """Over all of Unicode: whatever is a mark, or becomes one, is sorted with at most thirty before it."""
    marks = [char for char in map(chr, range(0x110000)) if unicodedata.combining(unicodedata.normalize("NFKD", char)[0])]
    assert len(marks) > 900
    assert {char for char in marks if len(unpiled("a" + char * 99)) != 31} == set()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "heap", ["\u0316\u0301", "\uff9e\u0301", "\u0f73\u0301", "\u0344\u0316", "≮\u0316", "\ufdfa\u064b\u0301"]
)
def test_a_pile_is_cut_before_it_is_sorted_however_it_comes_about(heap: str, form: Form) -> None:
    """No run of marks in any normal form is longer than 30 characters, each of two marks at most, make it."""
    written = normalised(f"a{heap * 5_000}b", form)
    runs = re.findall(r"[^\0]+", "".join("x" if unicodedata.combining(char) else "\0" for char in written))
    assert max(map(len, runs), default=0) <= 64


@given(text=st.text(st.characters(), max_size=40), form=st.sampled_from(FORMS))
def test_text_without_piles_is_normalised_as_unicode_says(text: str, form: Form) -> None:
    """The same as the standard library's."""
    assert normalised(text, form) == unicodedata.normalize(form, text)
    assert is_normalised(text, form) == unicodedata.is_normalized(form, text)


def test_piles_of_marks_are_cut_at_thirty() -> None:
    """Sorting marks takes quadratic time; nobody reads thirty of them."""
    assert len(normalised("x" + "\u0316\u0301" * 10_000)) <= 32
    assert len(normalised("👍" * 100)) == 100
