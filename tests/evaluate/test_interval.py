"""Interval: the percentile bootstrap over questions or whole conversations."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.metrics import Interval, intervals, resampling_groups
from support.examples import examples

pytestmark = pytest.mark.requirement("EVAL-1")


def one(values: list[float], conversations: list[str] | None = None, seed: int = 0) -> Interval:
    drawn = resampling_groups(conversations or [str(at) for at in range(len(values))], whole=conversations is not None)
    return intervals(np.array(values, dtype=np.float64)[:, None], drawn, seed)[0]


def test_a_share_of_many_questions_has_the_interval_that_is_known_for_it() -> None:
    """The expected interval is p ± 1.96 √(p(1 − p)/n)."""
    found = one([1.0] * 300 + [0.0] * 100)
    assert found.mean == 0.75
    assert found.low == pytest.approx(0.75 - 0.0424, abs=0.004)
    assert found.high == pytest.approx(0.75 + 0.0424, abs=0.004)


def test_questions_that_are_alike_within_a_conversation_make_it_wider() -> None:
    """Drawing conversations whole counts what they have in common once."""
    values, conversations = [float(at % 12 < 8) for at in range(240)], [str(at % 12) for at in range(240)]
    apart, together = one(values), one(values, conversations)
    assert apart.low is not None
    assert together.low is not None
    assert together.low < apart.low - 0.1


def test_fewer_than_five_values_have_no_interval() -> None:
    """An interval of so few values would be meaningless."""
    assert one([1.0, 0.0, 1.0, 1.0]) == Interval(mean=0.75, low=None, high=None, count=4)


def test_what_is_missing_isnt_counted() -> None:
    """NaN is a missing value; without any value the mean is NaN."""
    assert one([1.0, float("nan"), 0.0]).count == 2
    nothing = one([float("nan")])
    assert nothing.count == 0
    assert isnan(nothing.mean)
    assert intervals(np.zeros((0, 2)), resampling_groups([], whole=False))[0].count == 0


def test_the_same_seed_draws_the_same() -> None:
    """The same seed gives the same figures."""
    values = [float(at % 3) for at in range(50)]
    assert one(values, seed=7) == one(values, seed=7)
    assert one(values, seed=7) != one(values, seed=8)


@examples(40)
@given(st.lists(st.floats(0, 1), min_size=5, max_size=60))
def test_the_interval_lies_within_the_values_and_around_the_mean_of_them(values: list[float]) -> None:
    """This holds for any values."""
    found = one(values)
    assert found.low is not None
    assert found.high is not None
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found.mean == pytest.approx(sum(values) / len(values))
