"""Items that aren't tried for lack of room: few costs are asked for, and each still has its reason."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.strategies import COMPACT
from germane.stages.pack.pack import Packing, pack
from germane.types.candidate import Scored
from germane.types.strategy import Strategy
from support.plain_layout import RANK, PlainLayout, item, ranked


def packed(items: list[Scored], available: int, strategy: Strategy = COMPACT, layout: PlainLayout | None = None) -> Packing:
    return pack(items, (), available=available, layout=layout or PlainLayout(), strategy=strategy)


@pytest.mark.requirement("PACK-7")
def test_of_many_items_only_those_are_written_whose_turn_may_come() -> None:
    """A thousand in room for ten: a few dozen costs are asked for."""
    layout = PlainLayout()
    packing = packed(ranked(*[20] * 1000), 200, layout=layout)
    assert len(packing.chosen) == 10
    assert layout.calls < 150
    assert packing.skipped == len(packing.left_out) == 990


@pytest.mark.requirement("PACK-1", "PACK-3")
@pytest.mark.parametrize("strategy", [RANK, COMPACT], ids=["rank", "density"])
def test_after_many_that_do_not_fit_the_rest_is_left_out_untried(strategy: Strategy) -> None:
    """For want of room, without a cost."""
    packing = packed([item(90, 1), *(item(50, rank) for rank in range(2, 60))], 100, strategy)
    assert [one.scored.rank for one in packing.chosen] == [1]
    assert packing.untried
    assert {out.reason for out in packing.left_out} == {"budget"}
    assert {out.tokens for out in packing.left_out} == {50, None}
    assert packing.was_truncated


@pytest.mark.requirement("PACK-1")
def test_a_few_that_do_not_fit_do_not_stop_those_that_do() -> None:
    """Ten too big in a row, then one that fits."""
    items = [item(90, 1), *(item(50, rank) for rank in range(2, 12)), item(8, 12)]
    assert [one.scored.rank for one in packed(items, 100, RANK).chosen] == [1, 12]


@pytest.mark.requirement("PACK-3", "GATHER-3", "GATHER-5")
def test_even_untried_each_has_the_reason_it_would_have_had() -> None:
    """A copy of what is in is a duplicate, and what isn't allowed is left out for that."""
    packing = packed([item(90, 1, content_hash=7), *(item(50, rank) for rank in range(2, 60))], 100, RANK)
    odd = [item(50, 60, content_hash=7), item(50, 61, sensitivity="sensitive"), item(50, 62, content_hash=59)]
    more = replace(packing, untried=(*packing.untried, *odd))
    assert [out.reason for out in more.left_out[-3:]] == ["duplicate", "sensitivity", "duplicate"]


@pytest.mark.requirement("PACK-3")
def test_what_was_only_refused_was_not_cut_short() -> None:
    """Nothing was left out for room."""
    packing = packed([item(20, 1, content_hash=7), item(20, 2, content_hash=7), item(20, 3, sensitivity="sensitive")], 100)
    assert not packing.was_truncated
    assert not replace(packing, untried=(item(20, 4, content_hash=7),)).was_truncated


@pytest.mark.requirement("PACK-1")
@given(st.lists(st.tuples(st.integers(1, 90), st.floats(-9, 3)), max_size=150), st.integers(0, 2000))
def test_looking_at_a_few_at_a_time_chooses_what_looking_at_all_would(sizes: list[tuple[int, float]], room: int) -> None:
    """The most probability per token first, a text of fewer than 16 tokens being taken for one of 16."""
    sizes.sort(key=lambda pair: -pair[1])
    items = [item(size, rank, log_odds=odds) for rank, (size, odds) in enumerate(sizes, 1)]
    left, expected = room, []
    order = sorted(items, key=lambda one: (0.7 * log(max(16, len(one.candidate.text)) + 2) - one.log_odds, one.rank))
    for one in order:
        if len(one.candidate.text) <= left:
            left -= len(one.candidate.text)
            expected.append(one.id)
    assert [one.id for one in packed(items, room).chosen] == expected[: len(packed(items, room).chosen)]
    assert len(packed(items, room).chosen) == len(expected) or packed(items, room).untried
