"""Planner: the smallest plan that fits, step by step; what is pinned stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.memories.consolidation import EVICTED_KINDS, ConsolidationPlan, StorageBudget, plan_consolidation
from germane.kinds.memories.upkeep import Holding

pytestmark = pytest.mark.requirement("MEM-6")
BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
KINDS = ("fact", "preference", "procedure", "behavior", "episode", "note")


def holding(number: int, kind: str = "note", **given: Any) -> Holding:
    values: dict[str, Any] = {
        "id": f"{number:04}",
        "kind": kind,
        "bytes": 1000,
        "vector_bytes": 260,
        "pinned": False,
        "ended": False,
        "worth": 0.4,
        "age": BEGINNING + timedelta(days=number),
        "opening": "Went for a walk." if kind == "episode" else "",
    }
    return Holding(**values | given)


def evicted(plan: ConsolidationPlan) -> list[str]:
    return [one.id for one in plan.evicted]


def test_what_fits_is_left_alone() -> None:
    """Duplicates too."""
    held = [holding(number, same=("note", 1)) for number in range(4)]
    plan = plan_consolidation(held, StorageBudget(max_memories=4, max_bytes=4000))
    assert plan == ConsolidationPlan(memories=4, bytes=4000)


def test_of_duplicates_the_most_valuable_stays() -> None:
    """Only as many as it takes; a pinned one is the one that stays, and another pinned one isn't merged."""
    facts = [holding(number, "fact", same=("fact", "city", "Leith"), worth=number / 10) for number in range(3)]
    others = [holding(number, same=("note", 2), pinned=number != 5) for number in (4, 5, 6)]
    plan = plan_consolidation([*facts, *others], StorageBudget(max_memories=3))
    assert [(one.kept, one.ids) for one in plan.merged] == [("0002", ("0001", "0000")), ("0006", ("0005",))]
    assert (plan.memories, plan.evicted) == (3, ())


def test_near_duplicates_are_merged_after_equal_ones() -> None:
    """Of the same kind only."""
    one, two = holding(1, near=("0002", "0003"), worth=0.9), holding(2, near=("0001",))
    three = holding(3, "fact", near=("0001",))
    plan = plan_consolidation([one, two, three], StorageBudget(max_memories=2))
    assert [(one.kept, one.ids) for one in plan.merged] == [("0001", ("0002",))]


def test_the_oldest_episodes_become_notes_that_name_them() -> None:
    """Sixteen in a note; as many notes as it takes; the younger ones and the pinned stay as they are."""
    held = [holding(number, "episode", pinned=number == 3) for number in range(60)]
    plan = plan_consolidation(held, StorageBudget(max_memories=31))
    first = [number for number in range(17) if number != 3]
    assert plan.compressed[0].ids == tuple(f"{number:04}" for number in first)
    assert (len(plan.compressed), plan.memories, plan.evicted) == (2, 30, ())


def test_episodes_of_different_sensitivity_never_share_a_note() -> None:
    """A note would else show, or hide, what the other isn't."""
    held = [holding(number, "episode", sensitivity=("public", "sensitive")[number % 2]) for number in range(40)]
    for group in plan_consolidation(held, StorageBudget(max_memories=10)).compressed:
        assert len({int(id) % 2 for id in group.ids}) == 1


def test_vectors_are_dropped_for_bytes_alone() -> None:
    """Before anything is evicted, the least valuable first."""
    held = [holding(number, "preference", worth=number) for number in range(4)]
    plan = plan_consolidation(held, StorageBudget(max_bytes=3600))
    assert (plan.vectors, plan.evicted, plan.fits) == (("0000", "0001"), (), True)
    plan = plan_consolidation(held, StorageBudget(max_memories=3))
    assert (plan.vectors, plan.evicted, plan.fits) == ((), (), False)


def test_episodes_go_before_notes_procedures_and_facts() -> None:
    """Within a kind those that ended, then by worth, then the oldest. Preferences and behaviors never go."""
    held = [holding(index, kind) for index, kind in enumerate(KINDS)]
    held += [holding(10, "fact", worth=0.1), holding(11, "fact", ended=True, worth=0.9), holding(12, "fact", pinned=True)]
    plan = plan_consolidation(held, StorageBudget(max_memories=0))
    assert [one.kind for one in plan.evicted] == ["episode", "note", "procedure", "fact", "fact", "fact"]
    assert evicted(plan)[-3:] == ["0011", "0010", "0000"]
    assert [one.reason for one in plan.evicted][-3:] == ["ended", "least_valuable", "least_valuable"]
    assert (plan.memories, plan.fits) == (3, False)


def test_a_note_that_would_not_stay_is_not_made() -> None:
    """Its episodes are evicted in its place."""
    held = [holding(number, "episode") for number in range(32)]
    plan = plan_consolidation(held, StorageBudget(max_memories=1))
    assert (len(plan.compressed), len(plan.evicted), plan.memories) == (1, 16, 1)


HOLDINGS = st.lists(
    st.builds(
        holding,
        st.just(0),
        st.sampled_from(KINDS),
        pinned=st.booleans(),
        ended=st.booleans(),
        worth=st.floats(0, 3),
        bytes=st.integers(300, 3000),
        same=st.sampled_from([(), ("note", 1), ("fact", "k", "v")]),
    ),
    max_size=80,
)


@given(HOLDINGS, st.none() | st.integers(0, 80), st.none() | st.integers(0, 80_000))
def test_every_plan_keeps_what_must_stay_and_names_each_memory_once(
    made: list[Holding], most: int | None, size: int | None
) -> None:
    """And where it doesn't fit, nothing that may go is left."""
    held = [replace(one, id=f"{index:04}", age=BEGINNING + timedelta(days=index)) for index, one in enumerate(made)]
    plan = plan_consolidation(held, StorageBudget(max_memories=most, max_bytes=size))
    gone = [*evicted(plan), *(id for one in plan.merged for id in one.ids), *(id for one in plan.compressed for id in one.ids)]
    by_id = {one.id: one for one in held}
    assert len(gone) == len(set(gone))
    assert not any(by_id[id].pinned for id in gone)
    assert all(one.kind in EVICTED_KINDS for one in plan.evicted)
    assert not {one.kept for one in plan.merged} & {id for one in plan.merged for id in one.ids}
    assert plan.memories == len(held) - len(gone) + len(plan.compressed)
    fits = (most is None or plan.memories <= most) and (size is None or plan.bytes <= size)
    assert fits == plan.fits
    left = [one for one in held if one.id not in gone]
    assert fits or all(one.pinned or one.kind not in EVICTED_KINDS for one in left)
