"""From evidence to a probability of relevance."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.search.relevance import Relevance, matrix, shipped
from germane.types.evidence import Evidence

COLUMNS = ("people", "people_lexical", "assistant", "assistant_lexical")


def model(reasons: dict[str, float] | None = None, **weights: float) -> Relevance:
    """The same column four times."""
    tables: dict[str, dict[str, float]] = {column: dict(weights) for column in COLUMNS}
    return Relevance.parse(tables | ({"reasons": reasons} if reasons else {}))


def probability(relevance: Relevance, evidence: Evidence) -> float:
    return 1 / (1 + exp(-float(relevance.log_odds(matrix([evidence]))[0])))


@pytest.mark.requirement("SCORE-2")
def test_the_column_is_chosen_by_assistant_and_by_vectors() -> None:
    """One for talk between people, one with an assistant; each also without a cosine."""
    chosen = Relevance.parse({column: {"intercept": float(number)} for number, column in enumerate(COLUMNS)})
    dense, assisted = Evidence(cos_window=0.1), Evidence(cos_window=0.1, assistant=1)
    found = chosen.log_odds(matrix([dense, Evidence(), assisted, Evidence(assistant=1)]))
    assert found.tolist() == [0, 1, 2, 3]


@pytest.mark.requirement("SCORE-2")
def test_log_odds_are_the_intercept_and_the_weighted_evidence() -> None:
    found = model(intercept=-2.0, own=1.5, cos_window=4.0).log_odds(
        matrix([Evidence(own=0.5, cos_window=0.25), Evidence(own=1.0)])
    )
    assert found.tolist() == pytest.approx([-2 + 0.75 + 1.0, -0.5])


@pytest.mark.requirement("SCORE-2")
def test_reasons_are_joined_by_noisy_or() -> None:
    """1 − Π (1 − p), of likeness and of every other reason, the square of its strength times its probability."""
    relevance = model({"structured": 0.9, "history": 0.4, "recent": 0.03}, intercept=-1.0)
    likeness = 1 / (1 + exp(1.0))
    evidence = Evidence(structured=1, history=0.5, recent=1)
    assert probability(relevance, evidence) == pytest.approx(1 - (1 - likeness) * (1 - 0.9) * (1 - 0.1) * (1 - 0.03))


@given(st.floats(-80, 80), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_another_reason_never_makes_an_item_less_relevant(intercept: float, one: float, two: float, three: float) -> None:
    """And never an infinite number of anything, however sure or unsure the model is."""
    relevance = model({"structured": 1.0, "history": 0.4, "recent": 0.03}, intercept=intercept)
    plain = relevance.log_odds(matrix([Evidence()]))[0]
    joined = relevance.log_odds(matrix([Evidence(structured=one, history=two, recent=three)]))[0]
    assert np.isfinite(joined)
    assert joined >= min(plain, 27) - 1e-5


@pytest.mark.requirement("SCORE-2")
def test_the_shipped_model_knows_more_from_more() -> None:
    """Chance without evidence, near certainty with all of it."""
    nothing = probability(shipped(), Evidence())
    some = probability(shipped(), Evidence(window=0.5, session=0.5))
    much = probability(
        shipped(), Evidence(own=1, window=1, session=1, cos_own=0.8, cos_window=0.9, phrase=0.5, speaker=1, month=1, day=2)
    )
    assert nothing < 0.0002 < some < 0.005
    assert much > 0.9


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"people": {}}, "people_lexical"),
        ({column: {"charm": 1.0} for column in COLUMNS}, "charm"),
        ({column: {} for column in COLUMNS} | {"reasons": {"whim": 0.5}}, "whim"),
        ({column: {} for column in COLUMNS} | {"reasons": {"recent": 1.5}}, "1.5"),
    ],
)
def test_a_model_that_cannot_be_is_refused_by_name(tables: dict[str, dict[str, float]], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Relevance.parse(tables)


def test_no_evidence_at_all_is_no_trouble() -> None:
    assert shipped().log_odds(matrix([])).shape == (0,)
