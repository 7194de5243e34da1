"""How deep a search looks: as deep as the budget could use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.gather.source import EVERYTHING, recall_depth, search_depth
from germane.types.budget import price_of_effort
from germane.types.limits import COUNT

TOKENS = st.integers(0, 2_000_000)


@pytest.mark.requirement("AMOUNT-3")
@given(TOKENS, TOKENS)
def test_a_larger_budget_never_looks_less_deep(one: int, other: int) -> None:
    """As many results as lines of twelve tokens fit, and a few in any case."""
    small, large = (search_depth(tokens, None, 0.0) for tokens in sorted((one, other)))
    assert 32 <= small.max_items <= large.max_items
    assert large.max_items >= max(one, other) // 12


@pytest.mark.requirement("AMOUNT-3")
def test_only_a_price_drops_results_for_their_share() -> None:
    """A budget that is to be used up leaves no text unread."""
    assert search_depth(8_000, None, 0.0).price == 0
    assert search_depth(8_000, price_of_effort("low"), 0.0).price == price_of_effort("low")


@pytest.mark.requirement("AMOUNT-3")
def test_the_floor_is_the_strategys_own() -> None:
    """Neither the budget nor the price raises it."""
    assert search_depth(100, price_of_effort("low"), 0.002).min_relevance == 0.002
    assert (EVERYTHING.max_items, EVERYTHING.leading, EVERYTHING.min_relevance) == (COUNT.maximum, COUNT.maximum, 0.0)


def test_a_recall_without_a_bound_on_what_scoring_moves_reads_every_message() -> None:
    """With one, no more than a few beyond its limit."""
    assert recall_depth(10, None, 0.0).leading == COUNT.maximum
    assert 10 < recall_depth(10, 0.1, 0.0).leading < 40
