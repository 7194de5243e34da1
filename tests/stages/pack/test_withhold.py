"""Withholding: where nothing stored is needed, what was searched for stays out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.pack.pack import Packing, pack, withhold
from germane.types.candidate import Scored
from support.plain_layout import RANK, PlainLayout, item, scored_items

pytestmark = pytest.mark.requirement("NEED-1", "NEED-2")
LAYOUT = PlainLayout(header=7, wrapper=5)


def packed(items: Sequence[Scored], available: int = 500, directive: str = "Be brief.") -> Packing:
    return pack(items, (), available=available, layout=LAYOUT, strategy=RANK, directive=directive)


def test_required_items_and_the_directive_stay() -> None:
    """The others are left out as not needed, with their tokens; the text is counted again."""
    packing = packed([item(40, 1), item(40, 2, required=True), item(40, 3)])
    held = withhold(packing, 500, LAYOUT)
    assert [one.scored.rank for one in held.chosen] == [2]
    assert held.directive == "Be brief."
    assert {one.scored.rank: one.reason for one in held.left_out} == {1: "not_needed", 3: "not_needed"}
    assert [one.tokens for one in held.left_out] == [one.tokens for one in packing.chosen if one.scored.rank != 2]
    assert held.tokens == LAYOUT.total("Be brief.", held.chosen) < packing.tokens


def test_a_packing_of_required_items_alone_stays_as_it_is() -> None:
    packing = packed([item(40, 1, required=True)])
    assert withhold(packing, 500, LAYOUT) == replace(packing, withheld=True)


def test_what_is_not_needed_is_not_missed_for_lack_of_budget() -> None:
    """Where nothing is needed, nothing was truncated either."""
    packing = packed([item(40, 1), item(400, 2)], 100)
    assert packing.was_truncated
    assert not withhold(packing, 100, LAYOUT).was_truncated


@given(scored_items(), st.integers(0, 600))
def test_nothing_is_lost_or_kept_twice(items: list[Scored], available: int) -> None:
    """Every candidate is in or out once, within the budget, and only required ones are in."""
    packing = packed(items, available)
    held = withhold(packing, available, LAYOUT)
    assert sorted([*(one.id for one in held.chosen), *(one.id for one in held.left_out)]) == sorted(one.id for one in items)
    assert all(one.scored.candidate.required for one in held.chosen)
    assert {one.id for one in held.chosen} == {one.id for one in packing.chosen if one.scored.candidate.required}
    assert held.tokens == LAYOUT.total(held.directive, held.chosen) <= available
