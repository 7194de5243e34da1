"""Items chosen together: the highest total probability that fits, its value and its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.strategies import COMPACT, COMPOSITE
from germane.errors import InvalidInput
from germane.stages.gate import gate
from germane.stages.pack.budget_packer import Offer, select_together
from germane.stages.pack.pack import Packing, pack
from germane.stages.pack.shares import CapUsage
from germane.types.candidate import Scored
from germane.types.strategy import Cap, Shares, Strategy
from support.examples import examples
from support.plain_layout import PlainLayout, item, scored_items, strategies

EXACT = replace(COMPACT, packer="exact")
LAYOUTS = st.builds(PlainLayout, header=st.integers(0, 20), wrapper=st.integers(0, 20), excerpts=st.booleans())


def packed(items: Sequence[Scored], available: int, layout: PlainLayout | None = None, **more: Any) -> Packing:
    return pack(items, (), available=available, layout=layout or PlainLayout(), **{"strategy": EXACT} | more)


def worth(size: int, rank: int, value: float, **fields: Any) -> Scored:
    """An item of this many tokens whose P(relevant) is `value`."""
    return item(size, rank, **fields)._replace(score=value)


def ranks(packing: Packing) -> list[int]:
    return sorted(one.scored.rank for one in packing.chosen)


@st.composite
def few_items(draw: st.DrawFn) -> list[Scored]:
    """Up to ten in score order, in up to three sessions."""
    values = sorted(draw(st.lists(st.floats(0.001, 0.99), max_size=10)), reverse=True)
    return [
        worth(draw(st.integers(4, 60)), rank, value, session=draw(st.sampled_from(["s1", "s2", "s3"])))
        for rank, value in enumerate(values, 1)
    ]


def best_of_all(items: Sequence[Scored], available: int, header: int, maximum: int | None = None) -> float:
    def fits(some: Sequence[Scored]) -> bool:
        tokens = sum(len(one.candidate.text) for one in some) + header * len({one.candidate.session for one in some})
        return tokens <= available and (maximum is None or len(some) <= maximum)

    every = (some for size in range(len(items) + 1) for some in combinations(items, size))
    return max(sum(one.score for one in some) for some in every if fits(some))


@pytest.mark.requirement("PACK-6")
@given(few_items(), st.integers(0, 200), st.integers(0, 20), st.none() | st.integers(0, 4))
@examples(100)
def test_no_other_choice_is_worth_more(items: list[Scored], available: int, header: int, maximum: int | None) -> None:
    """Against trying every choice, shared headers and a cap included; value, bound and gap are told."""
    strategy = replace(EXACT, shares=Shares(kinds={"event": Cap(items=maximum)}))
    packing = packed(items, available, PlainLayout(header=header), strategy=strategy)
    assert packing.value == pytest.approx(best_of_all(items, available, header, maximum))
    assert packing.bound == pytest.approx(packing.value)
    assert packing.gap == 0


@pytest.mark.requirement("PACK-6")
@given(scored_items(), strategies(), LAYOUTS, st.integers(0, 600))
@examples(150)
def test_it_is_never_worse_than_one_by_one(
    items: list[Scored], strategy: Strategy, layout: PlainLayout, available: int
) -> None:
    """Excerpts, caps, shares and required items included: where shares call for a second round, in the first."""
    strategy = replace(strategy, packer="exact", shares=replace(strategy.shares, sources={}))
    together = packed(items, available, layout, strategy=strategy)
    one_by_one = packed(items, available, layout, strategy=replace(strategy, packer="density"))
    assert together.value >= one_by_one.value - 1e-9
    assert together.bound is not None
    assert together.value <= together.bound + 1e-9
    assert one_by_one.bound is one_by_one.gap is None


@pytest.mark.requirement("PACK-4", "PACK-6")
@given(scored_items(), strategies(), LAYOUTS, st.integers(0, 600), st.randoms(use_true_random=False))
@examples(100)
def test_the_order_they_come_in_decides_nothing(
    items: list[Scored], strategy: Strategy, layout: PlainLayout, available: int, random: Any
) -> None:
    """Same candidates, same choice, same bound."""
    shuffled = list(items)
    random.shuffle(shuffled)
    strategy = replace(strategy, packer="exact")
    assert packed(items, available, layout, strategy=strategy) == packed(shuffled, available, layout, strategy=strategy)


@pytest.mark.requirement("PACK-6")
def test_two_that_fit_together_go_before_one_that_is_denser() -> None:
    """What one by one gets wrong when room is short."""
    items = [worth(60, 1, 0.62, log_odds=0.5), worth(50, 2, 0.5, log_odds=0.0), worth(50, 3, 0.5, log_odds=0.0)]
    assert ranks(packed(items, 100)) == [2, 3]
    assert ranks(packed(items, 100, strategy=replace(COMPACT, packer="rank"))) == [1]


@pytest.mark.requirement("PACK-2", "PACK-6")
def test_what_is_required_goes_in_before_anything_is_chosen() -> None:
    """However little it is worth."""
    items = [worth(60, 1, 0.9), worth(60, 2, 0.01, required=True)]
    packing = packed(items, 100)
    assert ranks(packing) == [2]
    assert (packing.value, packing.bound) == (0.01, 0.01)


@pytest.mark.requirement("PACK-5", "PACK-6")
def test_what_is_left_over_is_filled_with_an_excerpt() -> None:
    """It comes on top of what was chosen together, and counts by the share that is shown."""
    items = [worth(70, 1, 0.9), worth(60, 2, 0.6)]
    packing = packed(items, 100, PlainLayout(excerpts=True))
    assert [(one.scored.rank, one.tokens) for one in packing.chosen] == [(1, 70), (2, 30)]
    assert packing.value == packing.bound == pytest.approx(0.9 + 0.6 / 2)


@pytest.mark.requirement("PACK-6")
def test_of_several_ways_to_show_an_item_one_is_taken() -> None:
    """Its whole text or an excerpt, not both."""
    whole = worth(60, 1, 0.9)
    offers = [
        Offer(item=whole, text=whole.candidate.text, tokens=60),
        Offer(item=whole, text=whole.candidate.text[:30], tokens=30, share=0.5),
    ]
    usage = CapUsage(Shares(), 200)
    assert select_together(offers, 200, PlainLayout(), frozenset(), usage).offers == (offers[0],)
    assert select_together(offers, 50, PlainLayout(), frozenset(), usage).offers == (offers[1],)


@pytest.mark.requirement("PACK-6")
def test_where_a_header_is_shared_across_caps_the_greedy_answer_stands_if_it_is_better() -> None:
    """Who pays for the header depends on who comes first; choosing together counts it against everyone."""
    items = [worth(20, 1, 0.5), worth(10, 2, 0.4, kinds=("factual",))]
    offers = [Offer(item=one, text=one.candidate.text, tokens=len(one.candidate.text)) for one in items]
    usage = CapUsage(Shares(kinds={"factual": Cap(tokens=10)}), 100)
    layout, none = PlainLayout(header=10), frozenset[str]()
    assert select_together(offers, 100, layout, none, usage).offers == (offers[0],)
    assert select_together(offers, 100, layout, none, usage, start=offers).offers == tuple(offers)


@pytest.mark.requirement("PACK-6")
def test_a_share_binds_first_and_what_is_left_is_offered_to_all() -> None:
    """As it is one by one: each round is the best there is of it."""
    items = [worth(40, rank, 0.9 - rank / 10, source=("messages", "memories")[rank == 4]) for rank in range(1, 5)]
    strategy = replace(EXACT, shares=Shares(sources={"messages": 40, "memories": 60}))
    packing = packed(items, 130, strategy=strategy)
    assert [one.scored.rank for one in packing.chosen] == [1, 4, 2]
    assert [(one.scored.rank, one.reason) for one in packing.left_out] == [(3, "budget")]


@pytest.mark.requirement("PACK-6")
def test_stopped_early_it_tells_what_might_have_been() -> None:
    """The greedy answer at least, and a gap that isn't 0."""
    items = [worth(20 + rank % 7, rank, 0.5 + (rank * 7 % 13) / 1000) for rank in range(1, 80)]
    skip_search, proven = packed(items, 500, stop=lambda: True), packed(items, 500)
    assert proven.gap == 0
    assert skip_search.gap is not None
    assert skip_search.gap > 0
    assert packed(items, 500, strategy=COMPACT).value <= skip_search.value <= proven.value <= (skip_search.bound or 0)


@pytest.mark.requirement("PACK-6")
def test_auto_is_exact_where_room_is_short() -> None:
    """And greedy where there is plenty."""
    items = [worth(60, rank, 0.5) for rank in range(1, 4)]
    auto = replace(COMPACT, packer="auto")
    assert packed(items, 100, strategy=auto).gap == 0
    assert packed(items, 4000, strategy=auto).gap is None


@pytest.mark.requirement("PACK-6")
def test_a_bound_is_of_what_may_be_shown() -> None:
    """What the gate takes out, it takes out of the bound too."""
    packing = gate(packed([worth(20, 1, 0.5), worth(20, 2, 0.25)], 100), {"i002"})
    assert (packing.value, packing.bound, packing.gap) == (0.25, 0.25, 0.0)


@pytest.mark.requirement("PACK-6")
@pytest.mark.parametrize("packer", ["exact", "auto"])
def test_sums_of_raw_scores_are_not_maximised(packer: Any) -> None:
    """The linear form's scores are no probabilities."""
    with pytest.raises(InvalidInput, match="adds up probabilities"):
        replace(COMPOSITE, packer=packer)
