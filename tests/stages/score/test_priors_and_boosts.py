"""What the graph says of a candidate as a probability, and the boosts of the linear form."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.strategies import COMPACT, COMPOSITE
from germane.errors import InvalidInput
from germane.search.relevance import matrix, shipped
from germane.stages.score.score import boosted, score, with_priors
from germane.types.candidate import Candidate, GraphItem, PatternText
from germane.types.evidence import Evidence
from germane.types.strategy import Strategy, Weights
from germane_testing.builders import MOMENT, candidate
from support.gather_stubs import asking

FOUND = Evidence(own=0.5)
BOOSTED = replace(COMPOSITE, word_boost=0.1, day_boost=1.2)


def of_graph(prior: float, salience: float = 0.5, **fields: Any) -> Candidate:
    item = GraphItem(shown=PatternText(action="x"), prior=prior, salience=salience)
    return candidate(f"{prior} {salience}", source="patterns", category="pattern", kinds=("pattern",), graph=item, **fields)


@pytest.mark.requirement("SCORE-2", "SCORE-4")
def test_a_prior_is_the_relevance_of_what_no_text_speaks_for() -> None:
    """And salience its usefulness, in both forms."""
    for strategy in (COMPACT, COMPOSITE):
        low, high = (score([of_graph(prior, prior)], strategy, MOMENT, shipped())[0] for prior in (0.1, 0.6))
        assert low.score < high.score
        assert (low.breakdown.usefulness, high.breakdown.usefulness) == (0.1, 0.6)
    (one,) = score([of_graph(0.3)], COMPACT, MOMENT, shipped())
    assert one.breakdown.relevance == pytest.approx(0.3, abs=0.001)


@pytest.mark.requirement("SCORE-2")
@given(st.floats(-12, 12), st.floats(0, 1))
def test_evidence_and_prior_are_joined_by_noisy_or(odds: float, prior: float) -> None:
    """1 − (1 − P) (1 − prior): never less than either."""
    (joined,) = with_priors(np.array([odds]), [of_graph(prior)])
    p = 1 / (1 + np.exp(-odds))
    expected = 1 - (1 - p) * (1 - min(prior, 0.999))
    assert 1 / (1 + np.exp(-joined)) == pytest.approx(expected, abs=1e-9)
    assert joined >= odds - 1e-6


@pytest.mark.requirement("SCORE-2", "ENGINE-8")
def test_a_candidate_of_the_graph_changes_no_other_candidates_score() -> None:
    """Not in its last bit."""
    others = [candidate(f"text {number}", evidence=Evidence(own=number / 9, recent=number / 18)) for number in range(9)]
    odds = shipped().log_odds(matrix([one.evidence for one in others]))
    assert with_priors(odds, others) is odds
    alone = {one.id: one.score for one in score(others, COMPACT, MOMENT, shipped())}
    with_graph = {one.id: one.score for one in score([*others, of_graph(0.4)], COMPACT, MOMENT, shipped())}
    assert {id: with_graph[id] for id in alone} == alone


def factor(text: str, strategy: Strategy = BOOSTED, **fields: Any) -> float:
    old: dict[str, Any] = {"created_at": MOMENT - timedelta(days=2), "evidence": FOUND}
    (found,) = boosted(np.array([0.1]), [candidate(text, **old | fields)], strategy, MOMENT, asking("red green blue"))
    return float(found / 0.1)


@pytest.mark.requirement("GRAPH-6")
def test_each_word_of_the_query_adds_a_tenth_and_a_new_text_a_fifth() -> None:
    """Whole words, each once, before clamping; the seed's substrings count `red` in `hundred`."""
    assert factor("hundred evergreens") == 1.0
    assert factor("Red, red and GREEN!") == pytest.approx(1.2)
    assert factor("red", created_at=MOMENT - timedelta(hours=23)) == pytest.approx(1.1 * 1.2)
    assert factor("red", created_at=MOMENT - timedelta(hours=24)) == pytest.approx(1.1)
    assert factor("red", created_at=MOMENT + timedelta(hours=1)) == pytest.approx(1.1)
    found = [candidate("red green blue", evidence=FOUND)]
    (most,) = boosted(np.array([0.95]), found, BOOSTED, MOMENT, asking("red green blue"))
    assert most == 1.0


@pytest.mark.requirement("GRAPH-6")
def test_only_what_a_search_found_is_boosted_and_only_where_the_strategy_says_so() -> None:
    """Not the latest events, nor the graph; an item that was found too is."""
    for evidence in (Evidence(), Evidence(history=1.0), Evidence(structured=1.0), Evidence(day_asked=1.0)):
        assert factor("red", evidence=evidence) == 1.0
        assert factor("red", evidence=evidence._replace(cos_own=0.1)) == pytest.approx(1.1)
    given = np.array([0.1])
    assert boosted(given, [candidate("red")], COMPOSITE, MOMENT, asking("red")) is given


@pytest.mark.parametrize(
    "changes",
    [
        *({"word_boost": -0.1}, {"word_boost": 1.1}, {"day_boost": 0.9}, {"day_boost": "x"}, {"depth": 11}, {"depth": -1}),
        *({"fan_out": True}, {"depth": 1.5}, {"fan_out": 1_001}),
    ],
)
def test_a_strategy_refuses_what_it_cant_use(changes: dict[str, Any]) -> None:
    """And says which setting it is."""
    with pytest.raises(InvalidInput, match=next(iter(changes))):
        replace(COMPOSITE, **changes)


def test_the_log_odds_form_has_no_boosts() -> None:
    """The words are evidence there."""
    with pytest.raises(InvalidInput, match="linear form"):
        replace(COMPACT, word_boost=0.1)
    assert replace(COMPACT, weights=Weights()).depth == 2
