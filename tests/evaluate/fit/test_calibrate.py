"""Calibrate: scores become probabilities, whose reliability is measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.fit.loss import calibrate, reliability
from support.examples import examples


@pytest.mark.requirement("SCORE-2")
@examples(25)
@given(st.floats(0.3, 2.0), st.floats(-6.0, 0.0))
def test_the_line_behind_the_data_is_found_again(slope: float, intercept: float) -> None:
    """The labels are drawn with P = σ(slope · s + intercept)."""
    random = np.random.default_rng(7)
    scores = random.normal(0, 3, 60_000)
    likely = 1 / (1 + np.exp(-(slope * scores + intercept)))
    found = calibrate(scores, random.random(len(scores)) < likely)
    assert found.slope == pytest.approx(slope, abs=0.08)
    assert found.intercept == pytest.approx(intercept, abs=0.25)


def test_what_is_added_beside_is_taken_into_account() -> None:
    """Half of the log-odds come as an offset, and the fit explains the other half."""
    random = np.random.default_rng(8)
    scores, beside = random.normal(0, 2, 40_000), random.normal(0, 2, 40_000)
    likely = 1 / (1 + np.exp(-(scores + beside - 2)))
    found = calibrate(scores, random.random(len(scores)) < likely, beside)
    assert found == pytest.approx((1.0, -2.0, 0.0), abs=0.1)


def test_what_all_candidates_of_a_question_share_has_a_weight_of_its_own() -> None:
    """So that short and long questions get probabilities that come true alike."""
    random = np.random.default_rng(8)
    scores, shared = random.normal(0, 2, 40_000), random.normal(0, 1, 40_000)
    likely = 1 / (1 + np.exp(-(scores - 1.5 * shared - 2)))
    found = calibrate(scores, random.random(len(scores)) < likely, shared=shared)
    assert found == pytest.approx((1.0, -2.0, -1.5), abs=0.1)
    assert found.log_odds(np.ones(1), np.ones(1)) == pytest.approx([-2.5], abs=0.2)


def test_with_a_slope_given_the_intercept_alone_is_fitted() -> None:
    """Predicted and observed shares agree in the mean."""
    random = np.random.default_rng(9)
    scores = random.normal(0, 1, 20_000)
    relevant = random.random(len(scores)) < 0.1
    found = calibrate(scores, relevant, slope=2.0)
    assert found.slope == 2.0
    assert float((1 / (1 + np.exp(-found.log_odds(scores)))).mean()) == pytest.approx(relevant.mean(), rel=1e-3)


@pytest.mark.parametrize("relevant", [np.zeros(5, bool), np.ones(5, bool)])
def test_where_all_are_alike_there_is_an_answer(relevant: np.ndarray) -> None:
    """The result is finite where no candidate, or every candidate, is relevant."""
    assert np.isfinite(calibrate(np.zeros(5), relevant)).all()


@pytest.mark.requirement("SCORE-2")
def test_reliability_sets_what_was_said_beside_what_came_true() -> None:
    """Ten said to be .3 of which three are relevant are right; ten said to be .6 of which none is are off by .6."""
    odds = np.log(np.array([0.3] * 10 + [0.6] * 10) / (1 - np.array([0.3] * 10 + [0.6] * 10)))
    found = reliability(odds, np.arange(20) < 3)
    right, wrong = found.bins
    assert (right.candidates, right.said, right.seen, right.share) == pytest.approx((10, 0.3, 0.3, 1.0))
    assert (wrong.candidates, wrong.said, wrong.seen, wrong.share) == pytest.approx((10, 0.6, 0.0, 0.0))
    assert found.ece == pytest.approx(0.3)
    assert found.ratio == pytest.approx(3.0)
    assert found.brier == pytest.approx((3 * 0.49 + 7 * 0.09 + 10 * 0.36) / 20)
    assert found.log_loss == pytest.approx(-(3 * np.log(0.3) + 7 * np.log(0.7) + 10 * np.log(0.4)) / 20)


@given(st.lists(st.tuples(st.floats(-700, 700), st.booleans()), max_size=40))
def test_bins_hold_every_candidate_once(rows: list[tuple[float, bool]]) -> None:
    """Probabilities of exactly 0 and exactly 1 have a bin too."""
    found = reliability(np.array([odds for odds, _ in rows], float), np.array([seen for _, seen in rows], bool))
    assert sum(one.candidates for one in found.bins) == len(rows)
    assert all(one.low <= one.said <= one.high for one in found.bins)
