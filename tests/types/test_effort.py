"""Effort: words and numbers become a price per token; anything else is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane import InvalidInput, SourcePlan, Strategies, Strategy, derive
from germane.types.budget import parse_effort, price_of_effort

NUMBERS = st.floats(0.01, 100)


@pytest.mark.requirement("AMOUNT-2")
def test_a_higher_effort_has_a_lower_price() -> None:
    """More goes in where a token has to bring less."""
    assert price_of_effort("low") > price_of_effort("medium") > price_of_effort("high") > 0


@pytest.mark.requirement("AMOUNT-2")
@given(NUMBERS)
def test_a_number_is_relative_to_medium(effort: float) -> None:
    """1 is medium, 2 halves the price."""
    assert price_of_effort(effort) * effort == pytest.approx(price_of_effort("medium"))
    assert price_of_effort(1) == price_of_effort("medium")
    assert price_of_effort(2) == price_of_effort("medium") / 2


@pytest.mark.requirement("AMOUNT-2")
@pytest.mark.parametrize(
    "effort",
    ["", "High", "highest", "2", True, False, None, 0, -1, 0.001, 101, 10**400, float("nan"), float("inf"), [1], Decimal(1)],
)
def test_anything_else_is_refused_with_what_is_allowed(effort: Any) -> None:
    """The message lists the words and the range."""
    with pytest.raises(InvalidInput, match=r"effort must be low, medium, high, or a number from 0\.01 to 100 .*, not "):
        price_of_effort(effort)


@given(NUMBERS)
def test_a_written_effort_is_read_back(effort: float) -> None:
    """As the command line and the service get it."""
    assert parse_effort(str(effort)) == effort
    assert parse_effort("high") == "high"


@pytest.mark.parametrize("written", ["", "HIGH", "nan", "inf", "0", "1,5", "1e3", "true"])
def test_a_written_effort_that_is_none_is_refused(written: str) -> None:
    """The same error as for a value."""
    with pytest.raises(InvalidInput, match="effort must be"):
        parse_effort(written)


@pytest.mark.requirement("AMOUNT-2")
def test_a_strategy_has_an_effort_or_none() -> None:
    """From code, by `derive` and from settings; a bad one is refused by the strategy's name."""
    assert Strategy(name="mine", sources=(SourcePlan(name="memories"),), effort=2.5).effort == 2.5
    assert derive(Strategies().find("default"), {"effort": "high"}).effort == "high"
    assert Strategies({"frugal": {"effort": "low"}}).find("frugal").effort == "low"
    with pytest.raises(InvalidInput, match=r"strategies.frugal.effort must be low"):
        Strategies({"frugal": {"effort": "tiny"}})
