"""Budget bars: the columns add up, every part is visible, letters replace colours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from germane.cli.assembly_screen import bar, slices, widths
from germane.cli.screen import console
from germane.types.budget import allocate
from germane.types.context import Metadata
from germane.types.trace import Trace
from support.examples import examples


@examples(200)
@given(st.lists(st.integers(1, 2_000_000), min_size=1, max_size=8), st.integers(10, 120))
def test_columns_add_up_and_every_part_has_one(tokens: list[int], room: int) -> None:
    """The bar is as wide as it says; a part of one token is visible beside a million."""
    columns = widths(tokens, room)
    assert sum(columns) == room
    assert min(columns) >= 1


def test_parts_of_the_window_add_up_to_the_window() -> None:
    """Messages, tools, germane, free, reserve and safety are all there is."""
    budget = allocate(window=8192, max_output=4096, messages=900, tools=100, safety_fraction=0.02, cap=700)
    trace = Trace(strategy="default", model="m", tokenizer="t", budget=budget)
    window, own = slices(budget, trace, Metadata(total_tokens_injected=300))
    assert sum(part.tokens for part in window) == budget.window
    assert sum(part.tokens for part in own) == budget.available


def test_without_colour_letters_tell_the_parts_apart() -> None:
    """A bar in a file or a pipe is still a bar."""
    budget = allocate(window=8192, max_output=4096, messages=900, tools=0, safety_fraction=0.02, cap=700)
    window, _ = slices(budget, Trace(strategy="d", model="m", tokenizer="t", budget=budget), Metadata())
    text = bar(console(), "Window", budget.window, window).plain
    assert "MMM" in text
    assert "█" not in text
    assert "M messages 900" in text
