"""Cues: which kinds of words a clause has, in fifteen languages."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.clauses import KINDS, read_cues


def kinds(text: str) -> set[str]:
    return {kind for kind, count in zip(KINDS, read_cues(text).counts, strict=True) if count}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from now on, never use emoji", {"always", "never", "shape"}),
        ("Ab jetzt bitte keine Tabellen mehr", {"always", "please", "never", "shape"}),
        ("à partir de maintenant, réponds en deux phrases", {"always", "answering", "shape"}),
        ("a partir de ahora nada de emoticonos", {"always", "never", "shape"}),
        ("с этого момента отвечай короче", {"always", "answering", "shape"}),
        ("以后不要用表格", {"always", "never", "shape"}),
        ("これから短く答えて", {"always", "shape", "answering"}),
        ("my sister is allergic to kiwi", {"mine", "people", "body"}),
        ("I’m vegan", {"i", "body"}),
    ],
)
def test_the_kinds_of_a_clause(text: str, expected: set[str]) -> None:
    assert expected <= kinds(text)


def test_two_characters_without_spaces_count_as_a_word() -> None:
    assert read_cues("我明天去北京").words == 3
    assert read_cues("one two three").words == 3


def test_every_kind_has_words_in_every_language() -> None:
    """A language without words for a kind would be judged by the others' silence."""
    table = tomllib.loads(files("germane.text").joinpath("cues.toml").read_text("utf-8"))
    assert tuple(sorted(table)) == tuple(sorted(KINDS))
    languages = {name: set(words) for name, words in table.items()}
    assert all(one == languages[KINDS[0]] for one in languages.values())
    assert all(words.strip() == words and words for kind in table.values() for words in kind.values())


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    cues = read_cues(text)
    assert len(cues.counts) == len(KINDS)
    assert all(count >= 0 for count in cues.counts)
    assert cues.words >= 0
