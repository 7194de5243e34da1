"""The query's vector is embedded without the speakers' names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.gather.source import Skipped, nameless, with_vector
from germane_testing.builders import Hashed
from germane_testing.time_warp import warped
from support.gather_stubs import EventsStub, SlowEmbedder, asking, scoped


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("What does Caroline drink?", "What does drink?"),
        ("caroline's tea, Ann’s milk", "tea, milk"),
        ("Did Ann Lee call?", "Did call?"),
        ("Anna and Leeds", "Anna and Leeds"),
        ("Caroline?", "Caroline?"),
        ("Ann Lee", "Ann Lee"),
    ],
)
def test_names_are_left_out_as_whole_words(text: str, rest: str) -> None:
    """With their genitive; but not when nothing else is left."""
    assert nameless(text, ("Caroline", "Ann Lee")).split() == rest.split()


def test_a_name_of_one_letter_is_no_name() -> None:
    assert nameless("I took a tea", ("I", "a")) == "I took a tea"


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=4))
def test_any_text_survives_any_names(text: str, names: list[str]) -> None:
    """Names may hold anything; what is left out was said, and the rest stands in its order."""
    rest = nameless(text, names)
    assert any(char.isalnum() for char in rest) or rest == text
    letters = iter(text)
    assert rest == text or all(char in letters for char in "".join(rest.split()))


def test_ten_thousand_names_are_not_tried_one_by_one() -> None:
    """Only those that can occur become a pattern."""
    assert nameless("what does name77 drink", [f"name{number}" for number in range(10_000)]).split() == [
        "what",
        "does",
        "drink",
    ]


@pytest.mark.requirement("SEARCH-3")
@warped
async def test_a_vector_has_unit_length_and_says_whose_space_it_is_of() -> None:
    found = await with_vector(asking("tea"), scoped(), Hashed("mine"), patience=0.020)
    assert found.vector is not None
    assert np.linalg.norm(found.vector) == pytest.approx(1.0)
    assert found.model == "mine/16"


class Odd(Hashed):
    """Answers whatever it was given."""

    def __init__(self, vector: Sequence[float]) -> None:
        super().__init__()
        self.vector = vector

    def embed_now(self, texts: Sequence[str]) -> Any:
        return np.array([self.vector], np.float32)


@pytest.mark.requirement("SEARCH-3")
@pytest.mark.parametrize("vector", [[0.0] * 16, [1.0] * 15, [float("nan")] * 16, [float("inf")] * 16])
@warped
async def test_a_vector_that_is_none_is_left_out(vector: list[float]) -> None:
    """Zero, of another dimension, or no numbers: keywords answer alone."""
    found = await with_vector(asking("tea"), scoped(), Odd(vector), patience=0.020)
    assert (found.vector, found.model) == (None, None)


@warped
async def test_without_words_or_dimensions_nothing_is_embedded() -> None:
    for query, embedder in ((asking(" \n"), Hashed()), (asking("tea"), Hashed(dimension=0))):
        assert (await with_vector(query, scoped(), embedder, patience=0.020)) is query


@pytest.mark.requirement("GATHER-2")
@warped
async def test_a_slow_embedder_is_waited_for_only_where_there_is_time() -> None:
    """And given up cleanly: an embedder that caches goes on by itself."""
    embedder = SlowEmbedder(0.5)
    with pytest.raises(Skipped, match="slow_embedder"):
        await with_vector(asking("tea"), scoped(), embedder, patience=0.020)
    found = await with_vector(asking("tea"), scoped(), embedder, patience=None)
    assert embedder.cancelled == 1
    assert found.vector is not None


@warped
async def test_a_very_long_question_is_embedded_by_its_beginning() -> None:
    asked: list[str] = []

    class Listening(Hashed):
        def embed_now(self, texts: Sequence[str]) -> Any:
            asked.extend(texts)
            return super().embed_now(texts)

    await with_vector(asking("tea " * 100_000), scoped(events=EventsStub(names=("Ann",))), Listening(), patience=0.020)
    assert len(asked[0]) <= 2000


def test_at_most_256_names_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest of those that may stand in the text; thousands of speakers make no expression of thousands of names."""
    text = " ".join(f"name{number}" for number in range(200))
    many = [f"name{number}" for number in range(200)] + ["!" * size for size in range(2, 4_000)]
    assert nameless(f"{text} went", many).split() == ["went"]
    patterns: list[str] = []

    def sub(pattern: str, by: str, text: str, flags: int) -> str:
        patterns.append(pattern)
        return text

    monkeypatch.setattr(re, "sub", sub)
    nameless("a a " * 400, ["a " * size + "a" for size in range(1, 390)])
    assert [pattern.count("|") for pattern in patterns] == [255]
