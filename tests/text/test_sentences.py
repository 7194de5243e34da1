"""Sentences in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.clauses import MAX_SENTENCE, sentences


def split(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met J. R. Ewing at example.com for 3.14 €. He left.", None),
        ("He said e.g. this. Then he left.", ["He said e.g. this.", "Then he left."]),
        ('"Stop." He stopped.', ['"Stop."', "He stopped."]),
        ("日本語の文。次の文！終わり", ["日本語の文。", "次の文！", "終わり"]),
        ("पहला वाक्य। दूसरा वाक्य।", ["पहला वाक्य।", "दूसरा वाक्य।"]),
        ("هل وصل؟ نعم وصل.", ["هل وصل؟", "نعم وصل."]),
        ("Один. Два.", ["Один.", "Два."]),
        ("- one\n- two\n\nThree", ["- one", "- two", "Three"]),
        ("Prose that was wrapped at some column of it goes on\nin the next line.", None),
        ("x = 1\ny = 2", ["x = 1", "y = 2"]),
        ("...", ["..."]),
        ("", []),
    ],
)
def test_a_sentence_ends_where_a_reader_says_so(text: str, found: list[str] | None) -> None:
    """Abbreviations, initials, numbers, addresses and wrapped lines don't end one; None: one sentence, or two for the first."""
    if found is None:
        assert len(split(text)) == (2 if text.startswith("Dr.") else 1)
    else:
        assert split(text) == found


@given(st.text(max_size=300) | st.text("ab.! \n。,…\u0301👩\u200d", max_size=900))
def test_every_character_belongs_to_one_sentence_of_bounded_length(text: str) -> None:
    """In order, without gaps."""
    spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(0 < end - start <= MAX_SENTENCE for start, end in spans)


@pytest.mark.parametrize(
    "text", ["x" * 5_000, "word " * 2_000, "ก" * 3_000, "a, b; " * 900, "\u0301" * 2_000, "👩\u200d👧" * 900]
)
def test_what_is_too_long_is_cut_where_it_hurts_least(text: str) -> None:
    """At a clause, else at a space, else between characters that don't belong together."""
    pieces = [text[start:end] for start, end in sentences(text)]
    assert "".join(pieces) == text
    if " " in text:
        assert all(piece.endswith(" ") for piece in pieces[:-1])
    if "👩" in text:
        assert not any(piece.startswith("\u200d") or piece.endswith("\u200d") for piece in pieces[:-1])
