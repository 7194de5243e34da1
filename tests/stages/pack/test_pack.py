"""Packing: what goes in, what is left out and why, and that the budget is never exceeded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.strategies import COMPACT
from germane.stages.gate import gate
from germane.stages.pack.pack import Packing, pack, trim
from germane.types.candidate import Scored
from germane.types.strategy import Shares, Strategy
from support.plain_layout import RANK, PlainLayout, item, ranked, scored_items, strategies

LAYOUTS = st.builds(
    PlainLayout, header=st.integers(0, 20), wrapper=st.integers(0, 20), extra=st.integers(-1, 9), excerpts=st.booleans()
)


def packed(
    items: Sequence[Scored],
    available: int,
    layout: PlainLayout | None = None,
    strategy: Strategy = RANK,
    **more: Any,
) -> Packing:
    dropped = more.pop("dropped", ())
    return pack(items, dropped, available=available, layout=layout or PlainLayout(), strategy=strategy, **more)


def ranks(packing: Packing) -> list[int]:
    return sorted(one.scored.rank for one in packing.chosen)


def reasons(packing: Packing) -> dict[int, str]:
    return {one.scored.rank: one.reason for one in packing.left_out}


@pytest.mark.requirement("PACK-1")
@pytest.mark.parametrize("strategy", [RANK, COMPACT], ids=["rank", "density"])
def test_a_big_item_alone_does_not_block_two_small_ones(strategy: Strategy) -> None:
    """What doesn't fit is skipped, and the next is tried."""
    packing = packed(ranked(500, 40, 40), 100, strategy=strategy)
    assert ranks(packing) == [2, 3]
    assert reasons(packing) == {1: "budget"}
    assert packing.was_truncated


@pytest.mark.requirement("PACK-1")
def test_in_score_order_the_better_goes_first() -> None:
    assert ranks(packed(ranked(60, 60, 30), 100)) == [1, 3]


@pytest.mark.requirement("PACK-1")
def test_by_density_the_cheaper_of_two_almost_alike_goes_first() -> None:
    """log-odds − 0.7 · ln(tokens + 2): 80 tokens for a hair more isn't worth it."""
    items = [item(80, 1, log_odds=0.1), item(20, 2, log_odds=0.0), item(20, 3, log_odds=0.0)]
    assert ranks(packed(items, 80, strategy=COMPACT)) == [2, 3]
    assert ranks(packed(items, 80, strategy=RANK)) == [1]


@pytest.mark.requirement("PACK-1")
def test_once_a_header_is_paid_for_its_other_items_are_cheaper() -> None:
    """And are weighed anew: the neighbour of what is in goes before a stranger that was ahead of it."""
    layout = PlainLayout(header=30)
    items = [
        item(20, 1, log_odds=1.0, session="a"),
        item(20, 2, log_odds=0.1, session="b"),
        item(20, 3, log_odds=0.0, session="a"),
    ]
    assert ranks(packed(items, 70, layout, COMPACT)) == [1, 3]


def test_what_fits_whole_goes_in_whole_where_there_is_no_excerpt() -> None:
    """Also when it takes more than a quarter of the room."""
    assert ranks(packed(ranked(150), 200)) == [1]


@pytest.mark.requirement("PACK-5")
def test_of_a_long_item_an_excerpt_goes_in() -> None:
    """At most a quarter of the room, so that one item doesn't take it all; its share says how much is shown."""
    packing = packed(ranked(2000, 100), 1000, PlainLayout(excerpts=True))
    long, short = packing.chosen
    assert (len(long.text), long.share, short.share) == (250, 0.125, 1.0)
    assert long.id == "i001"
    assert packing.was_truncated


@pytest.mark.requirement("PACK-5")
def test_an_excerpt_too_short_to_say_anything_is_not_made() -> None:
    packing = packed(ranked(90, 90), 100, PlainLayout(excerpts=True))
    assert reasons(packing) == {2: "budget"}


@pytest.mark.requirement("PACK-2")
def test_what_is_required_goes_first_and_is_shortened_to_fit() -> None:
    """Even when it scores lowest, and beyond the quarter that others get."""
    items = [item(40, 1), item(500, 2, required=True)]
    packing = packed(items, 100, PlainLayout(excerpts=True))
    assert [(one.scored.rank, len(one.text)) for one in packing.chosen] == [(2, 100)]
    assert packed(items, 100).left_out[0].scored.rank == 2


@pytest.mark.requirement("PACK-2")
def test_a_directive_is_whole_or_left_out_with_a_reason() -> None:
    """Never cut; what it leaves goes to memories."""
    layout = PlainLayout(excerpts=True)
    whole = packed(ranked(40), 100, layout, directive="d" * 60)
    assert (whole.directive, whole.directive_left_out, ranks(whole)) == ("d" * 60, "", [1])
    without = packed(ranked(40), 100, layout, directive="d" * 101)
    assert (without.directive, ranks(without)) == ("", [1])
    assert "101 tokens of 100" in without.directive_left_out
    assert without.was_truncated


@pytest.mark.requirement("PACK-2")
def test_a_directive_that_just_fits_alone_stays_though_nothing_else_fits() -> None:
    """The wrapper of memories is no reason to lose it."""
    packing = packed(ranked(5), 60, PlainLayout(wrapper=10), directive="d" * 55)
    assert (packing.directive, packing.tokens, packing.chosen) == ("d" * 55, 55, ())


@pytest.mark.requirement("PACK-3", "GATHER-3")
def test_of_two_items_with_the_same_content_the_better_stays() -> None:
    packing = packed([item(10, 1, content_hash=7), item(10, 2, content_hash=7), item(10, 3, content_hash=0)], 100)
    assert ranks(packing) == [1, 3]
    assert reasons(packing) == {2: "duplicate"}


@pytest.mark.requirement("GATHER-5")
def test_a_sensitivity_that_is_not_allowed_never_gets_in() -> None:
    """Checked again here, required or not; nor does its copy stand in the way of an allowed one."""
    items = [item(10, 1, sensitivity="sensitive", content_hash=7, required=True), item(10, 2, content_hash=7)]
    packing = packed(items, 100)
    assert (ranks(packing), reasons(packing)) == ([2], {1: "sensitivity"})
    assert ranks(packed(items, 100, sensitivities=())) == []


@pytest.mark.requirement("PACK-3")
def test_what_fell_below_the_floor_is_left_out_for_that() -> None:
    packing = packed(ranked(10), 100, dropped=[item(10, 3), item(10, 2)])
    assert [(one.scored.rank, one.reason) for one in packing.left_out] == [(2, "below_floor"), (3, "below_floor")]
    assert packing.skipped == 2
    assert not packing.was_truncated


@pytest.mark.requirement("PACK-3")
@given(scored_items(), scored_items(max_items=4), strategies(), LAYOUTS, st.integers(0, 900), st.text("d", max_size=80))
def test_every_candidate_is_accounted_for_exactly_once(
    items: list[Scored], low: list[Scored], strategy: Strategy, layout: PlainLayout, available: int, directive: str
) -> None:
    """Chosen, or left out with one reason; truncation is told; nothing sensitive, no content twice, nothing cut but items."""
    low = [one._replace(candidate=one.candidate._replace(id=f"low-{one.id}"), rank=one.rank + 100) for one in low]
    packing = packed(items, available, layout, strategy, dropped=low, directive=directive)
    told = Counter([one.id for one in packing.chosen] + [one.id for one in packing.left_out])
    assert told == Counter(one.id for one in (*items, *low))
    assert all(one.scored.candidate.sensitivity != "sensitive" for one in packing.chosen)
    codes = [one.scored.candidate.content_hash for one in packing.chosen if one.scored.candidate.content_hash]
    assert len(codes) == len(set(codes))
    assert packing.directive in ("", directive)
    assert bool(packing.directive_left_out) == (packing.directive != directive)
    if any(one.reason == "budget" for one in packing.left_out) or any(one.share < 1 for one in packing.chosen):
        assert packing.was_truncated


@pytest.mark.requirement("PACK-1", "PACK-2", "BUD-4")
@given(scored_items(), strategies(), LAYOUTS, st.integers(0, 900), st.text("d", max_size=80))
def test_the_final_text_never_takes_more_than_there_is(
    items: list[Scored], strategy: Strategy, layout: PlainLayout, available: int, directive: str
) -> None:
    """Though its parts don't add up: it is counted as a whole, and the lowest-scoring goes until it fits."""
    packing = packed(items, available, layout, strategy, directive=directive)
    assert packing.tokens == layout.total(packing.directive, packing.chosen) <= available


@pytest.mark.requirement("PACK-4")
@given(scored_items(), strategies(), LAYOUTS, st.integers(0, 900), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_decides_nothing(
    items: list[Scored], strategy: Strategy, layout: PlainLayout, available: int, random: Any
) -> None:
    """Same candidates, same packing, reasons included."""
    shuffled, low = list(items), ranked(3, 3, 3)
    low = [one._replace(rank=one.rank + 100) for one in low]
    random.shuffle(shuffled)
    one = packed(items, available, layout, strategy, dropped=low)
    two = packed(shuffled, available, layout, strategy, dropped=low[::-1])
    assert one == two


@pytest.mark.requirement("PACK-7")
@pytest.mark.parametrize("available", [100, 10_000])
def test_costs_are_asked_a_few_times_an_item(available: int) -> None:
    """Not once for every other item, however many headers are opened, whether all fit or few."""
    layout = PlainLayout(header=5, excerpts=True)
    items = [item(10, rank, session=f"s{rank % 7}", source=("messages", "memories")[rank % 2]) for rank in range(1, 301)]
    strategy = replace(COMPACT, shares=Shares(sources={"messages": 10, "memories": 10}))
    packed(items, available, layout, strategy)
    assert layout.calls <= 8 * len(items)


@pytest.mark.requirement("BUD-4")
def test_of_a_text_that_turned_out_too_long_the_lowest_scoring_goes() -> None:
    """Required items and the directive last of all."""
    items = [item(10, 1), item(10, 2, required=True), item(10, 3)]
    full = packed(items, 100, directive="d" * 10)
    tight = PlainLayout(extra=10)
    assert ranks(trim(full, 60, tight)) == [1, 2]
    assert ranks(trim(full, 40, tight)) == [2]
    bare = trim(full, 15, tight)
    assert (bare.directive, bare.chosen, bare.tokens) == ("d" * 10, (), 10)
    nothing = trim(full, 5, tight)
    assert (nothing.directive, nothing.tokens) == ("", 0)
    assert "10 tokens of 5" in nothing.directive_left_out


@pytest.mark.requirement("PACK-8")
def test_the_gate_takes_out_what_the_store_no_longer_allows() -> None:
    """With a reason of its own; what is still allowed stays as it was."""
    packing = packed(ranked(10, 20, 30), 100)
    passed = gate(packing, {"i001", "i003", "of another"})
    assert ranks(passed) == [1, 3]
    assert [(one.id, one.reason, one.tokens) for one in passed.left_out] == [("i002", "withdrawn", 20)]
    assert gate(packing, {"i001", "i002", "i003"}) is packing
    assert gate(packing, frozenset()).chosen == ()
