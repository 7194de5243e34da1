"""Recency, usefulness, frequency and the floor."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.score.score import frequency, recency, split_at_floor, usefulness
from germane.types.candidate import Breakdown, Scored
from germane.types.evidence import Evidence
from germane.types.strategy import HALF_LIVES
from germane_testing.builders import MOMENT, candidate


def recent(*kinds: str, days: float, half_lives: dict[str, float] | None = None) -> float:
    lives = HALF_LIVES if half_lives is None else half_lives
    return float(recency([candidate(kinds=kinds, created_at=MOMENT)], MOMENT + timedelta(days=days), lives)[0])


@pytest.mark.requirement("SCORE-3")
@pytest.mark.parametrize(
    ("kind", "days"),
    [("factual", 180), ("procedural", 120), ("preference", 45), ("behavioral", 30), ("episodic", 14), ("event", 1)],
)
def test_a_half_life_is_the_age_at_which_a_half_is_left(kind: str, days: float) -> None:
    """Not 1/e of it: 1 at once, ½ after one, ¼ after two."""
    assert [recent(kind, days=times * days) for times in (0, 1, 2)] == pytest.approx([1, 0.5, 0.25], abs=1e-12)


@pytest.mark.requirement("SCORE-3")
def test_what_lies_in_the_future_counts_as_now() -> None:
    assert recent("event", days=-400) == 1


@pytest.mark.requirement("SCORE-3")
def test_an_item_of_several_kinds_takes_the_shortest_half_life() -> None:
    assert recent("factual", "episodic", "unheard-of", days=14) == pytest.approx(0.5)


@pytest.mark.requirement("SCORE-3", "GRAPH-5")
def test_something_done_has_the_half_life_of_its_type_where_that_is_listed() -> None:
    """Longer or shorter than an event's; an unlisted type has the event's."""
    lives = {"event": 1.0, "decision": 14.0}
    done = [candidate(kinds=("event",), event_type=type, created_at=MOMENT) for type in ("decision", "file_read", "")]
    assert recency(done, MOMENT + timedelta(days=14), lives).tolist() == pytest.approx([0.5, 0.5**14, 0.5**14])


@pytest.mark.requirement("SCORE-3")
def test_a_kind_nobody_listed_takes_the_longest() -> None:
    assert recent("unheard-of", days=180) == recent(days=180) == pytest.approx(0.5)


def test_without_any_list_the_usual_half_lives_stand() -> None:
    assert recent("event", days=1, half_lives={}) == pytest.approx(0.5)


@pytest.mark.requirement("SCORE-3")
@given(st.floats(-1e5, 1e6), st.sampled_from(sorted(HALF_LIVES)))
def test_recency_stays_between_zero_and_one(days: float, kind: str) -> None:
    assert 0 <= recent(kind, days=days) <= 1


@pytest.mark.requirement("SCORE-4")
def test_usefulness_is_laplaces_rule() -> None:
    """(helpful + 1) / (helpful + harmful + 2): a half while nobody has said anything."""
    assert [usefulness(0, 0), usefulness(3, 0), usefulness(0, 1), usefulness(8, 8)] == pytest.approx([0.5, 0.8, 1 / 3, 0.5])


@pytest.mark.requirement("SCORE-4")
def test_frequency_is_full_at_fifty_retrievals() -> None:
    assert [frequency(count) for count in (0, 25, 50, 5000)] == [0, 0.5, 1, 1]


def an_item(relevance: float, *, required: bool = False, score: float = 0.9) -> Scored:
    breakdown = Breakdown(relevance=relevance, recency=1, usefulness=1, confidence=1, frequency=1)
    made = candidate(f"{relevance}", required=required, evidence=Evidence())
    return Scored(candidate=made, score=score, log_odds=0, breakdown=breakdown)


@pytest.mark.requirement("SCORE-5")
def test_the_floor_drops_the_irrelevant_however_new_or_useful() -> None:
    """It is held against relevance; what reaches it exactly stays; the order is kept."""
    items = [an_item(0.2), an_item(0.1, score=1.0), an_item(0.15), an_item(0.3)]
    kept, dropped = split_at_floor(items, 0.15)
    assert [item.breakdown.relevance for item in kept] == [0.2, 0.15, 0.3]
    assert [item.breakdown.relevance for item in dropped] == [0.1]


@pytest.mark.requirement("SCORE-5")
def test_what_is_required_is_exempt_from_the_floor() -> None:
    kept, dropped = split_at_floor([an_item(0.0, required=True), an_item(0.0)], 0.01)
    assert [item.candidate.required for item in kept] == [True]
    assert len(dropped) == 1
