"""Compare: two reports over the same questions, paired."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from germane import InvalidInput
from germane_eval import Report, compare
from germane_eval.answers import Answered
from germane_eval.metrics import figures
from germane_eval.report import Run
from support.small_talk import answered

pytestmark = pytest.mark.requirement("EVAL-1")


def report(*found: Answered, **fields: Any) -> Report:
    given: dict[str, Any] = {"budgets": (500, 1000), "ks": (5,), "clocks": ("end+1h",)} | fields
    run = Run(
        version="0",
        date=datetime(2026, 3, 1, tzinfo=UTC),
        machine="",
        dataset="talks",
        format="requests",
        conversations=1,
        messages=1,
        questions=len(found),
        asked=len(found),
        dropped=(),
        strategy="compact",
        embedder="hashed/16",
        relevance="",
        model="gpt-4o",
        tokenizer="o200k",
        deadline=None,
        latency_deadline=0.048,
        resampled="questions",
        seed=0,
        warnings=(),
        **given,
    )
    made = figures(found, budgets=given["budgets"], ks=given["ks"])
    return Report(run=run, figures=made, latency=(), reuse=None, answered=found)


A = [answered(f"q{at}", float(at % 2), category="ab"[at % 2]) for at in range(40)]


def test_a_difference_is_of_the_same_questions_and_surer_than_the_means() -> None:
    """A gain on every fourth question: small beside how questions differ, and beyond doubt."""
    b = [replace(one, shown=answered("", 1.0).shown) if at % 4 == 0 else one for at, one in enumerate(A)]
    found = compare(report(*A), report(*b)).difference("fraction", 1000)
    assert [found.a, found.b, found.difference, found.count] == pytest.approx([0.5, 0.75, 0.25, 40])
    assert found.sure
    mean = report(*A).figure("fraction", 1000)
    assert mean.low is not None
    assert found.low is not None
    assert found.difference - found.low < mean.mean - mean.low


def test_no_change_is_no_difference() -> None:
    """The difference is zero, and its sign isn't sure."""
    same = compare(report(*A), report(*A))
    assert {one.difference for one in same.differences} == {0.0}
    assert not any(one.sure for one in same.differences)
    assert same.changed == ()


def test_the_questions_that_changed_come_with_the_most_changed_first() -> None:
    """The order counts gains and losses alike."""
    b = [answered("q0", 0.5, category="a"), answered("q1", 0.0, category="b"), *A[2:]]
    found = compare(report(*A), report(*b))
    assert [(one.id, one.a, one.b) for one in found.changed] == [("q1", 1.0, 0.0), ("q0", 0.0, 0.5)]


def test_categories_are_compared_by_themselves() -> None:
    """A gain in one category doesn't show in another."""
    b = [replace(one, shown=answered("", 1.0).shown) for one in A]
    found = compare(report(*A), report(*b))
    assert found.difference("fraction", 1000, category="a").difference == 1.0
    assert found.difference("fraction", 1000, category="b").difference == 0.0


def test_only_what_both_were_asked_is_compared() -> None:
    """Other questions are counted as unmatched; other budgets and clocks are left out."""
    other = [answered(f"q{at}", 1.0, budgets=(1000,)) for at in range(35, 50)]
    found = compare(report(*A), report(*other, budgets=(1000,)))
    assert (found.matched, found.unmatched) == (5, 45)
    assert {one.at for one in found.differences} == {1000, 5}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (report(answered("z", 1.0)), "no question"),
        (report(answered("q0", 1.0, budgets=(250,)), budgets=(250,)), "no budget"),
        (report(answered("q0", 1.0, clock="today"), clocks=("today",)), "no clock"),
    ],
)
def test_two_that_have_nothing_in_common_arent_compared(other: Report, said: str) -> None:
    """The error says what to do."""
    with pytest.raises(InvalidInput, match=f"{said}.* in common.*: measure both"):
        compare(report(*A), other)


def test_a_figure_that_wasnt_measured_is_a_key_error() -> None:
    """An unknown figure isn't taken for zero."""
    with pytest.raises(KeyError):
        report(*A).figure("fraction", 7)
    with pytest.raises(KeyError):
        compare(report(*A), report(*A)).difference("stale", 1000)
