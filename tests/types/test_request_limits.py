"""The limits of whole requests, by model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.types.budget import LimitTable, RequestLimits


@pytest.mark.requirement("BUILD-3")
def test_large_and_small_models_have_their_own_limits() -> None:
    """As the defaults say."""
    large = LimitTable().of(("gpt-x",), 1_000_000, 100_000)
    assert (large.max_tokens, large.memory_tokens, large.history_tokens, large.response_tokens) == (
        200_000,
        12_000,
        80_000,
        8_000,
    )
    assert large.max_messages == 500
    small = LimitTable().of(("gpt-x",), 64_000, 100_000)
    assert (small.max_tokens, small.memory_tokens, small.history_tokens, small.response_tokens) == (
        64_000,
        6_000,
        40_000,
        4_000,
    )


@pytest.mark.requirement("BUILD-3")
def test_a_model_or_its_family_overrides() -> None:
    """The longest name counts, and names end where a word ends."""
    table = LimitTable(
        overrides={"claude": RequestLimits(memory_tokens=1), "claude-opus": RequestLimits(memory_tokens=2)},
        changes={"max_messages": 9},
    )
    found = {
        name: table.of((name,), 200_000, 8_000).memory_tokens for name in ("claude-opus-5", "Claude-Haiku", "claudette", "gpt")
    }
    assert found == {"claude-opus-5": 2, "Claude-Haiku": 1, "claudette": 12_000, "gpt": 12_000}
    assert table.of(("claude-x",), 200_000, 8_000).max_messages == 9


@pytest.mark.requirement("BUILD-3")
@given(window=st.integers(1, 3_000_000), output=st.integers(0, 200_000))
def test_no_limit_is_more_than_the_model_has(window: int, output: int) -> None:
    """In a small window each part keeps some room."""
    limits = LimitTable().of(("m",), window, output)
    assert limits.max_tokens <= window
    assert limits.response_tokens <= max(1, output or limits.response_tokens, 1)
    assert limits.memory_tokens + limits.response_tokens <= max(2, window * 0.6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RequestLimits(max_tokens=0),
        lambda: RequestLimits(memory_tokens=-1),
        lambda: RequestLimits(max_messages=True),
        lambda: LimitTable(overrides={"gpt": 5}),  # type: ignore[dict-item]
        lambda: LimitTable(overrides={"": RequestLimits()}),
        lambda: LimitTable(changes={"most": 5}),
        lambda: LimitTable(changes={"max_tokens": -5}),
    ],
)
def test_what_is_no_limit_is_refused(make: Any) -> None:
    """By its name."""
    with pytest.raises(InvalidInput, match="limits"):
        make()
