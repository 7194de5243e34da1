"""Redundancy: shown items that repeat another, and superseded messages shown without their replacement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.answers import redundancy, shingles, stale

pytestmark = pytest.mark.requirement("EVAL-1")

WORDS = st.lists(st.sampled_from(["the", "boat", "is", "in", "Trieste", "now"]), max_size=12).map(" ".join)


def jaccard(one: str, two: str) -> float:
    a, b = shingles(one), shingles(two)
    return len(a & b) / len(a | b) if a | b else 0.0


def test_a_near_repetition_counts_once() -> None:
    """Of two alike the second is redundant; what merely shares a word is not."""
    texts = ["The boat is moored in Trieste now", "the boat is moored in Trieste, now!", "The piano is in Trieste"]
    assert redundancy(texts) == pytest.approx(1 / 3)


def test_short_texts_are_alike_only_when_they_are_the_same() -> None:
    """Fewer than three words are one shingle."""
    assert redundancy(["Yes", "yes!", "No"]) == pytest.approx(1 / 3)


def test_nothing_shown_repeats_nothing() -> None:
    """There is no share of an empty list."""
    assert redundancy([]) is None
    assert redundancy(["", ""]) == 0.0


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_the_index_finds_what_comparing_all_pairs_finds(texts: list[str]) -> None:
    """The expected value follows the definition, pair by pair."""
    slow = sum(any(jaccard(text, other) >= 0.5 for other in texts[:at]) for at, text in enumerate(texts))
    assert redundancy(texts) == slow / len(texts)


@pytest.mark.parametrize(
    ("shown", "found"),
    [({"old"}, True), ({"old", "new"}, False), ({"new"}, False), (set(), False), ({"old", "other"}, True)],
)
def test_what_was_replaced_is_stale_without_what_replaced_it(shown: set[str], found: bool) -> None:
    """Where both are shown, a reader sees which is newer."""
    assert stale(shown, superseded={"old"}, evidence={"old", "new"}) is found


def test_where_nothing_was_replaced_nothing_is_stale() -> None:
    """The metric has no value for such questions."""
    assert stale({"a"}, superseded=(), evidence={"a"}) is None
