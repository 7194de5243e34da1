"""Placement: which passages stay, and where new ones go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.documents.plans import POSITION_GAP, Placement, place_passages
from support.examples import examples

pytestmark = pytest.mark.requirement("GRAPH-1")


def applied(stored: list[tuple[str, int]], new: str) -> tuple[list[tuple[str, int]], Placement]:
    placed = place_passages(stored, new)
    positions = {index: stored[at][1] for index, at in placed.kept.items()} | placed.positions
    return [(key, positions[index]) for index, key in enumerate(new)], placed


def test_an_inserted_passage_moves_nothing() -> None:
    """It gets a position between its neighbours'."""
    stored, _ = applied([], "abcd")
    assert [position for _, position in stored] == [POSITION_GAP, 2 * POSITION_GAP, 3 * POSITION_GAP, 4 * POSITION_GAP]
    after, placed = applied(stored, "abxcd")
    assert len(placed.kept) == 4
    assert after[2] == ("x", 2 * POSITION_GAP + POSITION_GAP // 2)


@examples(300)
@given(st.lists(st.text("abcdef", max_size=12), min_size=1, max_size=12))
def test_positions_rise_and_are_free_after_any_changes(versions: list[str]) -> None:
    """No position is one that a stored passage has, also one that goes: the old ones go after the new ones came."""
    stored: list[tuple[str, int]] = []
    for version in versions:
        taken = {position for _, position in stored}
        after, placed = applied(stored, version)
        positions = [position for _, position in after]
        assert positions == sorted(set(positions))
        assert all(position >= 0 for position in positions)
        assert not taken & set(placed.positions.values())
        assert all(stored[at][0] == version[index] for index, at in placed.kept.items())
        stored = after


def test_a_full_gap_costs_the_passages_behind_it() -> None:
    """Inserting again and again at one place ends in new positions, never in an error."""
    stored, _ = applied([], "ab")
    for number in range(3000):
        text = [key for key, _ in stored]
        new = [*text[:1], f"n{number}", *text[1:]][:40]
        placed = place_passages(stored, new)
        positions = {index: stored[at][1] for index, at in placed.kept.items()} | placed.positions
        stored = [(key, positions[index]) for index, key in enumerate(new)]
        assert [position for _, position in stored] == sorted({position for _, position in stored})


def test_a_long_document_is_compared_quickly() -> None:
    """Reversed, repeated and equal contents alike."""
    long = [str(number % 100) for number in range(20_000)]
    stored = [(key, index * POSITION_GAP) for index, key in enumerate(long)]
    assert len(place_passages(stored, long).kept) == 20_000
    assert len(place_passages(stored, long[::-1]).kept) < 20_000
