"""Latency: quantiles and levels, overall, by category, by stage."""

from __future__ import annotations

import pytest

from germane_eval.metrics import Timed, latencies, quantile

pytestmark = pytest.mark.requirement("EVAL-1")


def timed(milliseconds: int, *, level: int = 0, category: str = "") -> Timed:
    return Timed(category=category, seconds=milliseconds / 1000, level=level, stages={"gather": milliseconds / 2000})


def test_a_quantile_is_the_smallest_value_that_so_many_dont_exceed() -> None:
    """The nearest rank is always a measured value."""
    assert [quantile(range(1, 101), percent) for percent in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert quantile([7.0], 99) == 7.0


def test_all_answers_come_first_then_categories_then_stages() -> None:
    """Rows are in milliseconds, with the share of each level."""
    found = latencies(
        [timed(10, category="a"), timed(20, category="a"), timed(30, level=1, category="b"), timed(40, category="b")]
    )
    assert [(one.category, one.stage, one.count) for one in found] == [
        ("", "", 4),
        ("a", "", 2),
        ("b", "", 2),
        ("", "gather", 4),
    ]
    assert [found[0].p50, found[0].p99] == pytest.approx([20, 40])
    assert found[0].levels == (0.75, 0.25, 0.0, 0.0)
    assert found[3].p50 == pytest.approx(10)


def test_one_category_isnt_told_twice_and_nothing_gives_nothing() -> None:
    """A single category would repeat the first row."""
    assert len(latencies([timed(10, category="a")])) == 2
    assert latencies([]) == ()
