"""Packing in a hurry: in rank order, by upper bounds, never above the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.pack.pack import Packing, pack_by_bounds
from germane.types.candidate import Scored
from germane.types.strategy import Cap, Shares, Strategy
from support.plain_layout import RANK, PlainLayout, item, scored_items, strategies

pytestmark = pytest.mark.requirement("ENGINE-12")
LAYOUT = PlainLayout(header=7, wrapper=5)
BOUNDS = PlainLayout(header=14, extra=3)


def packed(items: Sequence[Scored], available: int = 500, strategy: Strategy = RANK, **options: Any) -> Packing:
    options = {"directive": "Be brief.", **options}
    return pack_by_bounds(items, (), available=available, layout=LAYOUT, bounds=BOUNDS, strategy=strategy, **options)


def ranks(packing: Packing) -> list[int]:
    return [one.scored.rank for one in packing.chosen]


def test_items_go_in_by_rank_and_required_ones_first() -> None:
    assert ranks(packed([item(40, 1), item(41, 2, required=True), item(42, 3)])) == [2, 1, 3]


def test_what_does_not_fit_is_passed_over_and_nothing_is_shortened() -> None:
    packing = packed([item(400, 1), item(401, 2), item(20, 3)])
    assert ranks(packing) == [1, 3]
    assert [one.share for one in packing.chosen] == [1.0, 1.0]
    assert [(out.scored.rank, out.reason) for out in packing.left_out] == [(2, "budget")]


def test_where_nothing_is_needed_only_required_items_go_in() -> None:
    packing = packed([item(40, 1), item(41, 2, required=True)], needed=False)
    assert (ranks(packing), [out.reason for out in packing.left_out]) == ([2], ["not_needed"])
    assert not packing.was_truncated


def test_a_directive_that_does_not_fit_is_left_out_with_the_reason() -> None:
    packing = packed([item(20, 1)], 60, directive="x" * 80)
    assert (packing.directive, packing.directive_left_out) == ("", "it takes 80 tokens of 60")
    assert ranks(packing) == [1]


def test_the_caps_of_the_strategy_hold() -> None:
    capped = replace(RANK, shares=Shares(total=Cap(items=1)))
    assert ranks(packed([item(20, 1), item(21, 2)], strategy=capped)) == [1]


def test_what_may_not_be_shown_and_duplicates_stay_out() -> None:
    packing = packed([item(20, 1, content_hash=7), item(21, 2, content_hash=7), item(22, 3, sensitivity="sensitive")])
    assert ranks(packing) == [1]
    assert {out.reason for out in packing.left_out} == {"duplicate", "sensitivity"}


def test_it_stops_when_it_is_told_to() -> None:
    """The rest stays untried."""
    polls = iter((False, True))
    packing = packed([item(20, 1), item(21, 2), item(22, 3)], stop=lambda: next(polls))
    assert (ranks(packing), len(packing.untried)) == ([1], 2)


def test_only_so_many_items_are_tried_and_taken() -> None:
    few: Callable[[int], list[Scored]] = lambda size: [item(size + rank, rank) for rank in range(1, 101)]  # noqa: E731
    assert len(packed(few(1), 100_000).chosen) == 24
    assert len(packed(few(600), 500).untried) == 92


@given(scored_items(), st.integers(0, 600), strategies(), st.booleans())
def test_the_budget_holds_and_every_candidate_is_in_or_out_once(
    items: list[Scored], available: int, strategy: Strategy, needed: bool
) -> None:
    packing = packed(items, available, strategy, needed=needed)
    assert sorted([*(one.id for one in packing.chosen), *(one.id for one in packing.left_out)]) == sorted(
        one.id for one in items
    )
    total = LAYOUT.total(packing.directive, packing.chosen)
    assert total <= packing.tokens <= available or not packing.chosen
    assert total <= available or not (packing.chosen or packing.directive)


def test_what_the_whole_text_takes_decides_in_the_end() -> None:
    """Line by line 9 + 5 for the directive and 40 + 14 for the item; as a whole, 3 more."""
    assert ranks(packed([item(40, 1)], 71)) == [1]
    packing = packed([item(40, 1)], 70)
    assert ([out.reason for out in packing.left_out], packing.tokens) == (["budget"], 9)
