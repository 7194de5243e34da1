"""One comparable score per candidate: both forms, their parts, their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from math import exp, isclose, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.strategies import COMPOSITE, DEFAULT, derive
from germane.errors import InvalidInput
from germane.search.relevance import matrix, shipped
from germane.stages.score.score import min_relevance, score, split_at_floor
from germane.types.candidate import Candidate, Scored
from germane.types.evidence import Evidence
from germane.types.strategy import Strategy, Weights
from germane_testing.builders import MOMENT, candidate

LATER = MOMENT + timedelta(hours=1)
PARTS = ("relevance", "recency", "usefulness", "confidence", "frequency")

EVIDENCE = st.builds(
    Evidence()._replace,
    own=st.floats(0, 1),
    window=st.floats(0, 1),
    session=st.floats(0, 1),
    cos_own=st.none() | st.floats(-1, 1),
    cos_window=st.none() | st.floats(-1, 1),
    phrase=st.floats(0, 1),
    assistant=st.sampled_from([0.0, 1.0]),
    recent=st.floats(0, 1),
)


@st.composite
def candidates(draw: st.DrawFn, maximum: int = 12) -> list[Candidate]:
    count = draw(st.integers(0, maximum))
    return [
        candidate(
            f"text {number}",
            id=f"c{number:02}",
            created_at=MOMENT + timedelta(days=draw(st.integers(-900, 30))),
            evidence=draw(EVIDENCE),
            confidence=draw(st.floats(0, 1)),
            helpful=draw(st.integers(0, 9)),
            harmful=draw(st.integers(0, 9)),
            retrievals=draw(st.integers(0, 99)),
        )
        for number in range(count)
    ]


def scored(items: Sequence[Candidate], strategy: Strategy = DEFAULT, **at: Any) -> tuple[Scored, ...]:
    return score(items, strategy, at.get("at", LATER), shipped())


def one(strategy: Strategy = DEFAULT, **fields: Any) -> Scored:
    at = fields.pop("at", LATER)
    return scored([candidate(**fields)], strategy, at=at)[0]


@pytest.mark.requirement("SCORE-1")
@given(candidates())
def test_the_log_odds_form_moves_the_odds_by_its_weighted_parts(items: list[Candidate]) -> None:
    """score = σ(logit P + Σ wᵢ · (xᵢ − ½)), worked out again from the breakdown."""
    weights = DEFAULT.weights
    for item in scored(items):
        parts = item.breakdown
        odds = shipped().log_odds(matrix([item.candidate.evidence]))[0]
        odds += sum(getattr(weights, name) * (getattr(parts, name) - 0.5) for name in PARTS[1:])
        assert item.log_odds == pytest.approx(odds)
        assert item.score == pytest.approx(1 / (1 + exp(-odds)))


@pytest.mark.requirement("SCORE-1")
@given(candidates())
def test_the_linear_form_is_the_weighted_sum_of_its_parts(items: list[Candidate]) -> None:
    for item in scored(items, COMPOSITE):
        total = sum(getattr(COMPOSITE.weights, name) * getattr(item.breakdown, name) for name in PARTS)
        assert item.score == pytest.approx(total)
        assert item.log_odds == pytest.approx(log(max(total, 1e-12)))


@pytest.mark.requirement("SCORE-1")
def test_the_linear_weights_are_the_seeds_unless_said_otherwise() -> None:
    assert COMPOSITE.weights == Weights(relevance=0.40, recency=0.25, usefulness=0.20, confidence=0.10, frequency=0.05)


@pytest.mark.requirement("SCORE-1")
@pytest.mark.parametrize("weights", [{"recency": 0.5}, {"relevance": -0.1, "recency": 0.75}])
def test_linear_weights_that_do_not_sum_to_one_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="weights"):
        derive(COMPOSITE, {"weights": weights})


@pytest.mark.requirement("SCORE-1")
def test_configured_weights_are_the_ones_that_count() -> None:
    """Not ignored."""
    only_recency = derive(
        COMPOSITE, {"weights": {"relevance": 0, "recency": 1, "usefulness": 0, "confidence": 0, "frequency": 0}}
    )
    assert one(only_recency, created_at=MOMENT, at=MOMENT + timedelta(days=1)).score == pytest.approx(0.5)


@pytest.mark.requirement("SCORE-1", "SCORE-4", "SCORE-6")
@given(candidates(), st.sampled_from([DEFAULT, COMPOSITE]))
def test_every_part_and_every_score_lies_between_zero_and_one(items: list[Candidate], strategy: Strategy) -> None:
    """Whatever is configured, and the breakdown stays with its item."""
    found = scored(items, strategy)
    assert {item.id for item in found} == {item.id for item in items}
    for item in found:
        assert 0 <= item.score <= 1
        assert all(0 <= getattr(item.breakdown, name) <= 1 for name in PARTS)


@pytest.mark.requirement("SCORE-2")
@given(candidates(maximum=6), st.integers(0, 5))
def test_an_items_score_does_not_depend_on_who_else_is_there(items: list[Candidate], pick: int) -> None:
    """Fixed references, not the pool's."""
    together = {item.id: item for item in scored(items)}
    for item in items[pick : pick + 1]:
        alone = scored([item])[0]
        assert alone.breakdown.relevance == pytest.approx(together[item.id].breakdown.relevance, abs=1e-12)
        assert alone.score == pytest.approx(together[item.id].score, abs=1e-12)


@pytest.mark.requirement("SCORE-2")
def test_the_same_evidence_is_as_relevant_from_every_source() -> None:
    evidence = Evidence(own=0.6, window=0.7, session=0.4)
    found = {one(source=source, evidence=evidence).breakdown.relevance for source in ("messages", "memories", "history")}
    assert len(found) == 1


@pytest.mark.requirement("SCORE-1")
@given(candidates(), st.integers(0, 40))
def test_the_clock_moves_the_log_odds_by_no_more_than_recencys_weight(items: list[Candidate], years: int) -> None:
    """An hour or forty years after the last message: relevance isn't buried."""
    soon = {item.id: item.log_odds for item in scored(items)}
    late = {item.id: item.log_odds for item in scored(items, at=LATER + timedelta(days=365 * years))}
    for id, odds in soon.items():
        assert abs(odds - late[id]) <= DEFAULT.weights.recency + 1e-9


@pytest.mark.requirement("SCORE-1")
@given(candidates())
def test_priors_shift_the_log_odds_by_at_most_half_their_weights(items: list[Candidate]) -> None:
    """So what is that much more relevant comes first, whatever the priors say."""
    weights = DEFAULT.weights
    bound = (weights.recency + weights.usefulness + weights.confidence + weights.frequency) / 2
    odds = dict(zip((item.id for item in items), shipped().log_odds(matrix([item.evidence for item in items])), strict=True))
    found = scored(items)
    assert all(abs(item.log_odds - odds[item.id]) <= bound + 1e-9 for item in found)
    for better, worse in pairwise(found):
        assert odds[better.id] >= odds[worse.id] - 2 * bound - 1e-9


@pytest.mark.requirement("SCORE-5")
@given(candidates(), st.randoms(use_true_random=False))
def test_the_order_is_total_and_the_same_whatever_came_first(items: list[Candidate], random: Any) -> None:
    """Score descending, then the newer, then by id; ranks count from 1."""
    shuffled = list(items)
    random.shuffle(shuffled)
    found = scored(items)
    assert [item.id for item in found] == [item.id for item in scored(shuffled)]
    keys = [(-item.log_odds, -item.candidate.created_at.timestamp(), item.id) for item in found]
    assert keys == sorted(keys)
    assert [item.rank for item in found] == list(range(1, len(found) + 1))


@pytest.mark.requirement("SCORE-5")
def test_equals_go_by_time_then_by_id() -> None:
    """With recency without weight, age alone doesn't change the score."""
    still = derive(DEFAULT, {"weights": {"recency": 0}})
    items = [
        candidate("a", id="b", created_at=MOMENT),
        candidate("a", id="a", created_at=MOMENT),
        candidate("a", id="c", created_at=MOMENT + timedelta(minutes=1)),
    ]
    assert [item.id for item in scored(items, still)] == ["c", "a", "b"]


def test_nothing_to_score_is_nothing() -> None:
    assert scored([]) == ()


@pytest.mark.requirement("SCORE-1")
def test_scores_far_from_a_half_keep_their_order() -> None:
    """σ saturates; the order is kept by the log-odds."""
    sure = Evidence(own=1, window=1, session=1, cos_own=1, cos_window=1, phrase=1, speaker=1, month=1, day=2, curated=1)
    surer = Evidence(
        own=1, window=1, session=1, cos_own=1, cos_window=1, phrase=1, speaker=1, month=1, day=2, curated=1, identifier=1
    )
    found = scored([candidate("a", id="a", evidence=sure), candidate("b", id="b", evidence=surer)])
    assert [item.id for item in found] == ["b", "a"]
    assert isclose(found[0].score, 1, abs_tol=1e-3)


@pytest.mark.requirement("SCORE-5")
@given(candidates(), st.sampled_from([DEFAULT, COMPOSITE]), st.floats(0, 1))
def test_what_a_floor_comes_to_as_a_probability(items: list[Candidate], base: Strategy, floor: float) -> None:
    """Whatever is likelier than that stays above the floor, in either form; whatever isn't falls below."""
    strategy = replace(base, floor=floor)
    odds = shipped().log_odds(matrix([one.evidence for one in items]))
    likely = {one.id: 1 / (1 + exp(-odd)) for one, odd in zip(items, odds.tolist(), strict=True)}
    kept, dropped = split_at_floor(scored(items, strategy), floor)
    assert all(likely[item.id] >= min_relevance(strategy) - 1e-9 for item in kept)
    assert all(likely[item.id] <= min_relevance(strategy) + 1e-9 for item in dropped)
