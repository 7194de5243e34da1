"""Long messages go in as a passage first, which is worth part of the whole; the rest competes with the other messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.strategies import COMPACT
from germane.stages.pack.budget_packer import BudgetPacker
from germane.stages.pack.greedy import Eligibility
from germane.stages.pack.pack import Packing, pack
from germane.types.budget import shown_value
from germane.types.candidate import Scored
from germane.types.strategy import Cap, Shares, Strategy
from support.plain_layout import PlainLayout, item

SAID: dict[str, Any] = {"kinds": ("event",)}
STATED: dict[str, Any] = {"kinds": ("factual",), "category": "factual"}


def packed(items: list[Scored], available: int, strategy: Strategy = COMPACT) -> Packing:
    return pack(items, (), available=available, layout=PlainLayout(excerpts=True), strategy=strategy)


def shown(packing: Packing) -> dict[int, int]:
    """Characters shown, by rank."""
    return {one.scored.rank: len(one.text) for one in packing.chosen}


@pytest.mark.requirement("PACK-5")
def test_of_long_messages_alike_passages_go_in_before_any_grows() -> None:
    """Five of 2,000 tokens take 42 each where the sixth part of one would fit; the best grows into the rest."""
    items = [item(2000, rank, log_odds=-rank / 100, **SAID) for rank in range(1, 6)]
    assert shown(packed(items, 300)) == {1: 128, 2: 42, 3: 42, 4: 42, 5: 42}


@pytest.mark.requirement("PACK-5")
def test_the_rest_of_a_much_better_message_goes_in_before_a_passage_of_a_worse_one() -> None:
    """The rest has a worth of its own: a message that is less likely by more than that waits."""
    better, worse = item(200, 1, log_odds=0.0, **SAID), item(200, 2, log_odds=-6.0, **SAID)
    assert shown(packed([better, worse], 150)) == {1: 128}
    alike = [item(2000, rank, log_odds=-rank / 100, **SAID) for rank in (1, 2)]
    assert shown(packed(alike, 150)).keys() == {1, 2}


@pytest.mark.requirement("PACK-5")
def test_what_is_left_over_lets_the_best_excerpts_grow() -> None:
    """To the whole where it fits, at most to a quarter of the budget."""
    assert shown(packed([item(200, 1, **SAID), item(200, 2, **SAID)], 420)) == {1: 128, 2: 128}
    assert shown(packed([item(200, 1, **SAID), item(200, 2, **SAID)], 1000)) == {1: 200, 2: 200}
    assert shown(packed([item(2000, rank, log_odds=-rank / 100, **SAID) for rank in (1, 2)], 150)) == {1: 108, 2: 42}


@pytest.mark.requirement("PACK-5", "BUD-4")
@given(st.lists(st.tuples(st.integers(1, 900), st.floats(-6, 2)), max_size=8), st.integers(0, 1500), st.booleans())
def test_growing_takes_nothing_away_and_keeps_to_the_budget(made: list[tuple[int, float]], available: int, broad: bool) -> None:
    """What was in shows at least as much afterwards, so the value is never lower."""
    odds = sorted((odds for _, odds in made), reverse=True)
    items = [item(size, rank, log_odds=odds[rank - 1], **SAID) for rank, (size, _) in enumerate(made, 1)]
    layout = PlainLayout(excerpts=True)
    packer = BudgetPacker(
        available, 0, layout, replace(COMPACT, packer="density"), Eligibility(("public", "private")), broad=broad
    )
    packer.fill(items)
    before = {one.scored.rank: shown_value(one.share) for one in packer.state.chosen}
    packer.grow()
    after = {one.scored.rank: shown_value(one.share) for one in packer.state.chosen}
    assert before.keys() == after.keys()
    assert all(after[rank] >= before[rank] >= shown_value(0.0) for rank in before)
    assert layout.total("", packer.state.chosen) == available - packer.state.tokens_left <= available


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_passage_is_worth_a_part_of_the_whole_and_the_rest_what_it_shows(one: float, other: float) -> None:
    """About half as soon as the best passage shows; all of it only when nothing is missing."""
    less, more = sorted((one, other))
    assert 0.3 < shown_value(0.0) <= shown_value(less) <= shown_value(more) <= shown_value(1.0) == 1.0
    assert shown_value(0.0) < 0.7


def test_a_short_message_and_a_memory_are_not_cut_for_others() -> None:
    """Up to 90 tokens a message goes in whole; what somebody stated always does."""
    assert shown(packed([item(90, 1, **SAID), item(120, 2, **STATED)], 520)) == {1: 90, 2: 120}


@pytest.mark.requirement("BUD-6")
def test_an_excerpt_grows_no_further_than_its_cap() -> None:
    strategy = Strategy(name="capped", sources=(), shares=Shares(kinds={"event": Cap(tokens=60)}))
    assert shown(packed([item(200, 1, **SAID)], 1000, strategy)) == {1: 42}


def test_a_required_message_is_not_cut_while_it_fits() -> None:
    assert shown(packed([item(200, 1, required=True, **SAID)], 1000)) == {1: 200}


@pytest.mark.parametrize("shorten", ["breadcrumb", "none"])
def test_without_passages_a_message_first_goes_in_whole(shorten: Any) -> None:
    """A pointer, or nothing, is no passage: only what doesn't fit is shortened, so the lowest score first."""
    items = [item(2000, rank, log_odds=-rank / 100, **SAID) for rank in range(1, 9)]
    assert shown(packed(items, 9000, replace(COMPACT, shorten=shorten))) == {1: 2000, 2: 2000, 3: 2000, 4: 2000, 5: 1000}
