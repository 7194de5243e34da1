"""The model of P(need): what raises it, which column it takes, and what it never says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane import InvalidInput
from germane.search.relevance import NEED_FEATURES, Asked, NeedModel, Relevance, matrix, shipped
from germane.types.evidence import FEATURES, Evidence

pytestmark = pytest.mark.requirement("NEED-1")
ASKED = st.builds(Asked, st.integers(0, 60), st.integers(0, 900), st.booleans(), st.booleans())
ODDS = st.lists(st.floats(-12, 8), min_size=1, max_size=60).map(lambda odds: np.array(sorted(odds, reverse=True)))
MODELS = st.sampled_from([shipped().need, shipped(contextual=True).need])


def table(count: int, **features: Any) -> Any:
    """Evidence of `count` candidates alike."""
    return matrix([Evidence(**features)] * count)


@given(MODELS, ODDS, ASKED, st.floats(0, 12), st.booleans())
def test_a_likelier_best_candidate_never_lowers_it(
    model: NeedModel, odds: Any, asked: Asked, more: float, vectors: bool
) -> None:
    """And it is a probability, not below that of the best candidate."""
    cosine = 0.4 if vectors else None
    rows = table(len(odds), own=0.5, cos_own=cosine, cos_window=cosine)
    better = odds.copy()
    better[0] += more
    low, high = (model.probability(rows, one, asked) for one in (odds, better))
    assert 0 <= low <= high + 1e-12 <= 1 + 1e-12
    assert high >= 1 / (1 + np.exp(-better[0])) - 1e-12


@given(MODELS, ODDS, ASKED)
def test_a_request_about_the_users_own_affairs_or_a_question_never_lowers_it(model: NeedModel, odds: Any, asked: Asked) -> None:
    """Small talk and tasks that bring their own text have neither."""
    rows = table(len(odds), own=0.5, cos_own=0.3, cos_window=0.3)
    plain, personal = (model.probability(rows, odds, asked._replace(personal=one)) for one in (False, True))
    telling, asking = (model.probability(rows, odds, asked._replace(asks=one)) for one in (False, True))
    assert plain <= personal
    assert telling <= asking


def test_without_vectors_the_lexical_column_counts() -> None:
    """As told by the best candidate; the first column stands in where there is no second."""
    both = NeedModel.parse({"need": {"intercept": -3.0}, "need_lexical": {"intercept": 3.0}})
    one = NeedModel.parse({"need": {"intercept": -3.0}})
    odds, asked = np.array([-9.0, -9.0]), Asked(1, 1, False, False)
    seen, blind = table(2, cos_own=0.1, cos_window=0.1), table(2)
    assert np.isnan(blind[0, FEATURES.index("cos_window")])
    assert both.probability(seen, odds, asked) < 0.1 < 0.9 < both.probability(blind, odds, asked)
    assert one.probability(blind, odds, asked) == one.probability(seen, odds, asked)


def test_where_nothing_was_found_nothing_is_needed() -> None:
    assert shipped().need.probability(table(0), np.array([]), Asked(5, 9, True, True)) == 0


def test_an_unknown_feature_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="need_lexical names the unknown feature 'mood'"):
        NeedModel.parse({"need": dict.fromkeys(NEED_FEATURES, 0.1), "need_lexical": {"mood": 1.0}})


def test_a_relevance_model_without_one_takes_the_shipped_one() -> None:
    """Models written before there was P(need) go on working."""
    columns = {name: {"intercept": 1.0} for name in ("people", "people_lexical", "assistant", "assistant_lexical")}
    assert Relevance.parse(columns).need is shipped().need
    assert Relevance.parse({**columns, "need": {"intercept": 2.0}}).need.intercepts.tolist() == [2.0, 2.0]
