"""Long messages go in as a passage first, and grow when there is room."""

from __future__ import annotations

from typing import Any

import pytest

from germane.api.strategies import DEFAULT
from germane.pipeline.pack.pack import pack
from germane.pipeline.pack.packing import Packing
from germane.types.candidate import Scored
from germane.types.strategy import Cap, Shares, Strategy
from support.plain_layout import PlainLayout, item

SAID: dict[str, Any] = {"kinds": ("event",)}
STATED: dict[str, Any] = {"kinds": ("factual",), "category": "factual"}


def packed(items: list[Scored], available: int, strategy: Strategy = DEFAULT) -> Packing:
    return pack(items, (), available=available, layout=PlainLayout(excerpts=True), strategy=strategy)


def shown(packing: Packing) -> dict[int, int]:
    """Characters shown, by rank."""
    return {one.scored.rank: len(one.text) for one in packing.chosen}


@pytest.mark.requirement("PACK-5")
def test_of_long_messages_passages_go_in_before_any_goes_in_whole() -> None:
    """Five of 200 tokens take 42 each where one and a half would fit."""
    items = [item(200, rank, **SAID) for rank in range(1, 6)]
    assert shown(packed(items, 300)).keys() == {1, 2, 3, 4, 5}


@pytest.mark.requirement("PACK-5")
def test_what_is_left_over_lets_the_best_excerpts_grow() -> None:
    """To the whole where it fits, at most to a quarter of the budget."""
    assert shown(packed([item(200, 1, **SAID), item(200, 2, **SAID)], 420)) == {1: 128, 2: 128}
    assert shown(packed([item(200, 1, **SAID), item(200, 2, **SAID)], 1000)) == {1: 200, 2: 200}
    first, second = shown(packed([item(200, 1, **SAID), item(200, 2, **SAID)], 150)).values()
    assert (first, second) == (108, 42)


def test_a_short_message_and_a_memory_are_not_cut_for_others() -> None:
    """Up to 90 tokens a message goes in whole; what somebody stated always does."""
    assert shown(packed([item(90, 1, **SAID), item(120, 2, **STATED)], 520)) == {1: 90, 2: 120}


@pytest.mark.requirement("BUD-6")
def test_an_excerpt_grows_no_further_than_its_cap() -> None:
    strategy = Strategy(name="capped", sources=(), shares=Shares(kinds={"event": Cap(tokens=60)}))
    assert shown(packed([item(200, 1, **SAID)], 1000, strategy)) == {1: 42}


def test_a_required_message_is_not_cut_while_it_fits() -> None:
    assert shown(packed([item(200, 1, required=True, **SAID)], 1000)) == {1: 200}
