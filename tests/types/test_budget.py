"""The arithmetic of the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.types.budget import Budget, allocate
from support.examples import examples

SIZES = st.integers(0, 3_000_000)


def allotted(
    window: int = 128_000, output: int = 16_384, messages: int = 1000, tools: int = 0, cap: int = 8000, overhead: int = 0
) -> Budget:
    return allocate(
        window=window, max_output=output, messages=messages, tools=tools, safety_fraction=0.02, cap=cap, overhead=overhead
    )


@pytest.mark.requirement("BUD-3", "BUD-4", "BUD-5")
@examples(200)
@given(
    st.one_of(SIZES, st.integers(0, 1000)), SIZES, SIZES, st.integers(0, 5000), st.floats(0, 0.99), SIZES, st.integers(0, 20)
)
def test_what_is_added_fits(
    window: int, output: int, messages: int, tools: int, safety: float, cap: int, overhead: int
) -> None:
    """messages + tools + added ≤ window − reserve − safety whenever they fit alone; else nothing is added."""
    budget = allocate(
        window=window, max_output=output, messages=messages, tools=tools, safety_fraction=safety, cap=cap, overhead=overhead
    )
    limit = window - budget.reserve - budget.safety
    assert budget.exceeds_window == (messages + tools > limit)
    assert 0 <= budget.available <= cap
    if budget.exceeds_window:
        assert budget.available == 0
    elif budget.available:
        assert messages + tools + overhead + budget.available <= limit


@pytest.mark.requirement("BUD-3")
@examples(200)
@given(SIZES, SIZES)
def test_the_reserve_is_clamped_and_never_above_the_output(window: int, output: int) -> None:
    """clamp(15 % of the window, 500, 4,096), never above the model's max output."""
    reserve = allotted(window=window, output=output).reserve
    assert reserve == min(output, max(500, min(4096, int(window * 0.15))))


@pytest.mark.requirement("BUD-3")
@pytest.mark.parametrize(
    ("window", "output", "reserve"), [(1000, 4096, 500), (8192, 4096, 1228), (128_000, 16_384, 4096), (8192, 300, 300)]
)
def test_reserves_of_real_windows(window: int, output: int, reserve: int) -> None:
    """Small, middling, large; and a model that answers briefly."""
    assert allotted(window=window, output=output).reserve == reserve


@pytest.mark.requirement("BUD-3")
def test_a_window_smaller_than_the_reserve_adds_nothing() -> None:
    """Tiny windows are overfull, not negative."""
    budget = allotted(window=100, messages=3)
    assert (budget.available, budget.exceeds_window, budget.is_constrained) == (0, True, True)


@pytest.mark.requirement("BUD-5")
@pytest.mark.parametrize("cap", [0, 1, 500])
def test_the_cap_is_the_most_that_is_added(cap: int) -> None:
    """0 means nothing; that alone isn't overfull."""
    budget = allotted(cap=cap)
    assert budget.available == cap
    assert not budget.exceeds_window


@pytest.mark.requirement("BUD-3")
def test_constrained_below_256() -> None:
    """The mark is at 256."""
    assert allotted(cap=255).is_constrained
    assert not allotted(cap=256).is_constrained


@pytest.mark.requirement("BUD-4")
def test_germanes_own_messages_are_paid_for() -> None:
    """What they cost beside their text comes off the room, not off the cap."""
    assert allotted(overhead=8).available == 8000
    full = allotted(cap=10**6)
    assert allotted(cap=10**6, overhead=8).available == full.available - 8
