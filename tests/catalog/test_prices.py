"""Prices: list prices by model, and what a request costs."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.catalog.profiles import Catalog, Price, Prices
from germane.errors import InvalidInput

PRICES = Prices.built_in()


@pytest.mark.requirement("BUD-1b")
@pytest.mark.parametrize(
    "model",
    [
        *("openai/gpt-4o-2024-08-06", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "gemini-2.5-flash", "deepseek-chat"),
        *("x-ai/grok-4", "moonshotai/kimi-k3", "z-ai/glm-4.6", "cohere/command-a-03-2025", "mistral-large-latest"),
    ],
)
def test_a_model_has_a_price_under_any_spelling_of_its_name(model: str) -> None:
    """As the catalog finds it."""
    assert PRICES.find(model) is not None
    assert Catalog.built_in().find(model).known


def test_a_model_without_a_price_has_none() -> None:
    """No price is made up, neither for an unknown model nor for an unlisted version."""
    assert PRICES.find("frobnicate-9") is None
    assert PRICES.find("gpt-5.9") is None


@pytest.mark.requirement("BUD-1b")
@pytest.mark.parametrize("price", list(PRICES), ids=repr)
def test_every_price_is_dated_and_in_order(price: Price) -> None:
    """Reading a prompt cache costs no more than reading afresh, writing to it no less."""
    assert date.fromisoformat(price.dated).year >= 2026
    assert price.input > 0
    assert price.cached is None or 0 < price.cached <= price.input
    assert price.write is None or price.write >= price.input


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_cost_is_the_sum_of_its_parts(plain: int, cached: int, written: int) -> None:
    """Each kind of token has its price a million."""
    price = Price(input=2.0, cached=0.5, write=2.5)
    expected = (2.0 * plain + 0.5 * cached + 2.5 * written) / 1e6
    assert price.cost(plain + cached + written, cached, written) == pytest.approx(expected)


def test_tokens_cost_as_much_as_others_without_a_price_of_their_own() -> None:
    """No discount and no surcharge is assumed."""
    assert Price(input=3.0).cost(1_000_000, 400_000, 100_000) == pytest.approx(3.0)


@pytest.mark.parametrize("parts", [(10, 11), (10, 6, 5), (10, -1), (-1,)])
def test_parts_that_are_no_parts_are_refused(parts: tuple[int, ...]) -> None:
    """A request reads no more from a cache than it holds."""
    with pytest.raises(InvalidInput, match="are no parts of"):
        Price(input=1.0).cost(*parts)


@pytest.mark.requirement("BUD-1b")
def test_settings_replace_and_add_prices() -> None:
    """Omitted fields stay, but for the day: the new figures aren't of that day."""
    mine = PRICES.with_prices({"gpt-4o": {"cached": 1.0}, "house": {"input": 0.2, "dated": "2026-10-01"}})
    assert mine.find("openai/gpt-4o") == Price(input=2.5, cached=1.0)
    assert mine.find("house") == Price(input=0.2, dated="2026-10-01")
    assert PRICES.find("house") is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "input is missing"),
        ({"input": -1}, "input must be a number of dollars"),
        ({"input": True}, "input must be a number of dollars"),
        ({"input": float("nan")}, "input must be a number of dollars"),
        ({"input": "3"}, "input must be a number of dollars"),
        ({"input": 1, "cached": float("inf")}, "cached must be"),
        ({"input": 1, "dated": 2026}, "dated must be a day"),
        ({"input": 1, "output": 2}, "unknown field 'output'; use input, cached, write, dated"),
        (3, "give a table"),
    ],
)
def test_a_price_that_is_none_is_refused_by_name(given: Any, why: str) -> None:
    """The message names the model and the field."""
    with pytest.raises(InvalidInput, match=f"price of 'house': {why}"):
        PRICES.with_prices({"house": given})
    with pytest.raises(InvalidInput, match="price of '-'"):
        PRICES.with_prices({"-": {"input": 1}})
