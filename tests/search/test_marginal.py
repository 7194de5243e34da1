"""Marginal relevance: what is relevant and adds something comes first; each text comes once, however many there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.search.find import by_marginal_relevance

pytestmark = pytest.mark.requirement("HIST-5")

WORDS = st.frozensets(st.sampled_from("abcdefgh"), max_size=6)


@given(st.lists(st.tuples(st.floats(0, 1), WORDS), max_size=40), st.integers(0, 50))
def test_each_text_comes_once_the_best_first(texts: list[tuple[float, frozenset[str]]], limit: int) -> None:
    order = by_marginal_relevance([relevance for relevance, _ in texts], [words for _, words in texts], limit)
    assert len(order) == min(limit, len(texts)) == len({*order})
    if order:
        first = [relevance + len(words) / (len(words) + 4) for relevance, words in texts]
        assert first[order[0]] == max(first)


def test_what_was_said_before_counts_half_as_much() -> None:
    tea, again, roof = frozenset({"tea", "cup"}), frozenset({"tea", "cup"}), frozenset({"roof"})
    assert by_marginal_relevance([0.0, 0.0, 0.0], [tea, again, roof], 3) == [0, 2, 1]
    assert by_marginal_relevance([0.0, 0.5, 0.0], [tea, again, roof], 3) == [1, 2, 0]
    assert by_marginal_relevance([0.0, 0.0, 0.0], [tea, again, roof], 1) == [0]
