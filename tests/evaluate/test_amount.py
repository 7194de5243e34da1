"""Amount and cost: what is added without a budget, and what the tokens of a thousand requests cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from germane.catalog.profiles import Price
from germane_eval.answers import Answered, Unlimited
from germane_eval.metrics import ReplayedCall, amounts, cost
from support.small_talk import answered

pytestmark = pytest.mark.requirement("EVAL-1")


def freely(id: str, category: str, **tokens_and_share: tuple[int, float]) -> Answered:
    """A question with one assembly for each effort."""
    unlimited = tuple(
        Unlimited(effort=effort.strip("_"), tokens=tokens, items=1, shares=(share,))
        for effort, (tokens, share) in tokens_and_share.items()
    )
    return replace(answered(id, 1.0, category=category), unlimited=unlimited)


ASKED = [freely("q1", "a", low=(100, 0.0), high=(400, 1.0)), freely("q2", "b", low=(200, 1.0), high=(800, 1.0))]


def test_each_effort_has_the_means_of_its_own_assemblies() -> None:
    """Over all questions first, then by category."""
    found = amounts(ASKED, price=None, whole=False)
    assert [(one.effort, one.category, one.count, one.tokens, one.fraction, one.every) for one in found] == [
        ("low", "", 2, 150.0, 0.5, 0.5),
        ("low", "a", 1, 100.0, 0.0, 0.0),
        ("low", "b", 1, 200.0, 1.0, 1.0),
        ("high", "", 2, 600.0, 1.0, 1.0),
        ("high", "a", 1, 400.0, 1.0, 1.0),
        ("high", "b", 1, 800.0, 1.0, 1.0),
    ]
    assert {one.dollars for one in found} == {None}


def test_an_amount_has_the_price_of_a_thousand_requests() -> None:
    """At the price of tokens that no cache holds."""
    found = amounts(ASKED, price=Price(input=2.0, cached=0.5), whole=False)
    assert found[0].dollars == pytest.approx(1000 * 150 * 2 / 1_000_000)


def test_answers_at_the_other_clocks_have_no_amount() -> None:
    """Only the first clock is asked without a budget."""
    assert amounts([answered("q1", 1.0)], price=None, whole=False) == ()


CALLS = [
    ReplayedCall(conversation="one", prompt=1000, common=0, own=400, own_common=300),
    ReplayedCall(conversation="one", prompt=2000, common=1500, own=600, own_common=500),
]


def test_what_the_previous_prompt_began_with_is_read_from_the_cache_and_the_rest_is_written() -> None:
    """A mean call has 1,500 tokens, 750 of them from the cache; germane's text is 1,000 of the 1,500."""
    found = cost(CALLS, Price(input=2.0, cached=0.2, write=2.5, dated="2026-11-22"))
    assert found is not None
    assert found.whole == pytest.approx(3.0)
    assert found.whole_cached == pytest.approx(0.75 * 0.2 + 0.75 * 2.5)
    assert found.own == pytest.approx(1.0)
    assert found.own_cached == pytest.approx(0.4 * 0.2 + 0.1 * 2.5)
    assert (found.calls, found.dated) == (2, "2026-11-22")


def test_a_provider_without_a_cache_costs_the_same_with_one() -> None:
    """Tokens read and written cost as much as others then."""
    found = cost(CALLS, Price(input=2.0))
    assert found is not None
    assert (found.whole, found.own) == pytest.approx((found.whole_cached, found.own_cached))


def test_without_a_price_or_a_call_there_is_no_cost() -> None:
    """An unknown model has no price; a quick evaluation replays nothing."""
    assert cost(CALLS, None) is None
    assert cost([], Price(input=2.0)) is None
