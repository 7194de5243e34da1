"""Caps and shares of the budget: by source, by kind, and in total."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.pack.pack import Packing, pack
from germane.types.candidate import Scored
from germane.types.strategy import Cap, Shares, Strategy
from support.plain_layout import RANK, PlainLayout, item, ranked, scored_items, strategies


def packed(items: list[Scored], available: int = 100, **shares: Any) -> Packing:
    strategy = replace(RANK, shares=Shares(**shares))
    return pack(items, (), available=available, layout=PlainLayout(), strategy=strategy)


def ids(packing: Packing) -> list[int]:
    return sorted(one.scored.rank for one in packing.chosen)


def reasons(packing: Packing) -> set[str]:
    return {one.reason for one in packing.left_out}


@pytest.mark.requirement("BUD-6")
def test_a_source_takes_its_share_while_others_want_theirs() -> None:
    """The better source doesn't take it all."""
    items = [item(20, rank, source="messages" if rank <= 5 else "memories") for rank in range(1, 11)]
    packing = packed(items, sources={"messages": 40, "memories": 60})
    assert ids(packing) == [1, 2, 6, 7, 8]
    assert reasons(packing) == {"budget"}


@pytest.mark.requirement("BUD-6")
def test_what_one_source_leaves_is_offered_to_the_others() -> None:
    items = [item(20, rank, source="messages") for rank in range(1, 6)] + [item(20, 6, source="memories")]
    assert ids(packed(items, sources={"messages": 20, "memories": 80})) == [1, 2, 3, 4, 6]


@pytest.mark.requirement("BUD-6")
def test_sources_of_one_pool_share_one_percentage() -> None:
    """Together no more than it, while another source may still need the rest."""
    items = [item(20, rank, source=source) for rank, source in enumerate(("messages", "memories", "archive", "events"), 1)]
    pools = {"memories": "messages", "archive": "messages"}
    assert ids(packed(items, sources={"messages": 40, "events": 60}, source_pools=pools, available=50)) == [1, 4]
    assert ids(packed(items, sources={"messages": 0}, source_pools=pools)) == [4]


@pytest.mark.requirement("BUD-6")
def test_a_share_of_nothing_is_nothing() -> None:
    """Not even of what is left over, and not for free."""
    items = [item(20, 1, source="messages"), item("", 2, source="messages"), item(20, 3, source="memories")]
    packing = packed(items, sources={"messages": 0})
    assert ids(packing) == [3]
    assert reasons(packing) == {"source_cap"}


@pytest.mark.requirement("BUD-6")
@pytest.mark.parametrize("cap", [Cap(items=2), Cap(chars=45), Cap(tokens=45)], ids=["items", "chars", "tokens"])
def test_a_kind_stays_within_its_cap(cap: Cap) -> None:
    """Of items, of characters, of tokens; others go on. By kind or by category."""
    items = [item(20, rank, kinds=("event",)) for rank in range(1, 4)] + [item(20, 4, category="factual", kinds=("factual",))]
    for name in ("event", "conversation"):
        packing = packed(items, kinds={name: cap})
        assert ids(packing) == [1, 2, 4]
        assert reasons(packing) == {"kind_cap"}
        assert packing.was_truncated


@pytest.mark.requirement("BUD-6")
@pytest.mark.parametrize("cap", [Cap(items=0), Cap(chars=0), Cap(tokens=0)])
def test_a_cap_of_zero_lets_nothing_in(cap: Cap) -> None:
    """Not even an item that costs nothing."""
    items = [*ranked(20, 20), item("", 3)]
    assert ids(packed(items, kinds={"event": cap})) == []
    assert ids(packed(items, total=cap)) == []


@pytest.mark.requirement("BUD-6")
def test_the_total_caps_everything() -> None:
    packing = packed(ranked(20, 20, 20), total=Cap(items=1))
    assert (ids(packing), reasons(packing)) == ([1], {"budget"})


@pytest.mark.requirement("BUD-6")
@given(scored_items(), strategies(), st.integers(0, 900))
def test_no_cap_is_ever_exceeded(items: list[Scored], strategy: Strategy, available: int) -> None:
    """Whatever the combination; and no source goes beyond its share while another with one was left wanting."""
    packing = pack(items, (), available=available, layout=PlainLayout(), strategy=strategy)
    chosen = [(one.scored.candidate, one.text) for one in packing.chosen]
    groups = {"total": strategy.shares.total, **strategy.shares.kinds}
    for name, cap in groups.items():
        inside = [text for one, text in chosen if name in ("total", one.category, *one.kinds)]
        assert cap.items is None or len(inside) <= cap.items
        for limit in (cap.chars, cap.tokens):
            assert limit is None or sum(map(len, inside)) <= limit
    for source, share in strategy.shares.sources.items():
        if share == 0:
            assert all(one.source != source for one, _ in chosen)
