"""The price of a token: what pays, and where it stopped."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from germane.types.budget import Cut, Need, TokenPrice, price_asked
from germane.types.candidate import LeftOut
from germane.types.evidence import Unread
from support.plain_layout import item

SHARE = st.floats(1e-6, 1.0)
PRICES = st.builds(TokenPrice, st.floats(1e-6, 0.1), st.floats(0.001, 50), SHARE)
TOKENS = st.integers(1, 8_000)


@pytest.mark.requirement("AMOUNT-1")
@given(PRICES, SHARE, SHARE, TOKENS, TOKENS)
def test_what_is_worth_more_or_costs_less_pays_too(price: TokenPrice, one: float, other: float, few: int, many: int) -> None:
    """Monotone in the value, antitone in the tokens."""
    few, many = sorted((few, many))
    low, high = sorted((one, other))
    if price.pays(low, many):
        assert price.pays(high, few)


@pytest.mark.requirement("AMOUNT-1")
@given(PRICES, SHARE, TOKENS)
def test_a_doubtful_need_and_a_dearer_token_never_let_more_in(price: TokenPrice, value: float, tokens: int) -> None:
    """Above one half, P(need) changes nothing; below it, half as likely brings half as much."""
    if replace(price, need=price.need / 2).pays(value, tokens) or replace(price, per_token=2 * price.per_token).pays(
        value, tokens
    ):
        assert price.pays(value, tokens)
    assert replace(price, need=0.5).gain(value) == replace(price, need=1.0).gain(value)
    assert replace(price, need=0.2).gain(value) == pytest.approx(2 * replace(price, need=0.1).gain(value))


@pytest.mark.requirement("AMOUNT-1")
@given(st.lists(st.tuples(st.floats(0.01, 1.0), TOKENS), min_size=1, max_size=80), st.floats(0.01, 1.0))
def test_a_factor_on_all_scores_changes_nothing_that_pays(made: list[tuple[float, int]], factor: float) -> None:
    """The rule compares the candidates of one request with one another."""
    made = sorted(made, reverse=True)
    found = [item(8, rank)._replace(score=score) for rank, (score, _) in enumerate(made, 1)]
    scaled = [one._replace(score=one.score * factor) for one in found]
    price, other = TokenPrice.of(3e-4, found), TokenPrice.of(3e-4, scaled)
    for one, two, (_, tokens) in zip(found, scaled, made, strict=True):
        assume(abs(price.gain(one.score) - price.per_token * tokens) > 1e-9)
        assert price.pays(one.score, tokens) == other.pays(two.score, tokens)


@pytest.mark.requirement("AMOUNT-1")
def test_the_best_fifty_are_expected_to_be_relevant_and_required_ones_are_not_counted() -> None:
    """Each with its probability."""
    found = [item(8, rank, required=rank == 1) for rank in range(1, 80)]
    assert TokenPrice.of(3e-4, found).expected == pytest.approx(50 * 0.5)
    assert TokenPrice.of(3e-4, found[:11]).expected == pytest.approx(10 * 0.5)
    assert TokenPrice.of(3e-4, found[:1]).gain(0.5) == 0


@pytest.mark.requirement("AMOUNT-1")
def test_a_message_that_asks_for_nothing_has_a_higher_price() -> None:
    """Most turns of a chat only tell something; and an overview's many passages overlap in what they say."""
    told, overview = price_asked(3e-4, asks=False, broad=False), price_asked(3e-4, asks=True, broad=True)
    assert told > overview > price_asked(3e-4, asks=True, broad=False) == 3e-4


@pytest.mark.requirement("AMOUNT-1")
@given(st.lists(st.floats(-6, 6), max_size=80), st.integers(0, 80))
def test_what_was_not_read_is_expected_like_what_was(odds: list[float], read: int) -> None:
    """Whichever of the results were read, the price compares each with the same number."""
    best = sorted(odds, reverse=True)
    scores = [1 / (1 + exp(-odd)) for odd in best]
    found = [item(8, rank)._replace(score=score) for rank, score in enumerate(scores[:read], start=1)]
    unread = [Unread(str(place), "events", odd, 10) for place, odd in enumerate(best[read:])]
    assert TokenPrice.of(3e-4, found, unread=unread).expected == pytest.approx(sum(scores[:50]))


@pytest.mark.requirement("NEED-1")
@pytest.mark.parametrize(("probability", "met"), [(0.0, False), (0.1499, False), (0.15, True), (1.0, True)])
def test_a_need_is_met_from_its_threshold_on(probability: float, met: bool) -> None:
    assert Need(probability, 0.15).met == met


@pytest.mark.requirement("AMOUNT-2")
def test_the_cut_names_the_item_that_came_nearest_to_the_price() -> None:
    """The one that brings most a token, of those that the price alone kept out; of a passage by what the passage is worth."""
    price = TokenPrice(3e-4, 2.0)
    dear, near, full = item(8, 1), item(8, 2), item(8, 3)
    out = [
        LeftOut(scored=dear, reason="price", tokens=850, value=0.1),
        LeftOut(scored=near, reason="price", tokens=900, value=0.2),
        LeftOut(scored=full, reason="budget", tokens=10),
        LeftOut(scored=full, reason="price"),
    ]
    assert Cut.of(price, out) == Cut(price, out[1])
    assert Cut.of(price, out[2:]) == Cut(price)
