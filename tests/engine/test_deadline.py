"""When the answer is due, and how long gathering may take of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.engine.assembly import Deadline


@pytest.mark.requirement("ENGINE-2", "ENGINE-10", "GATHER-2")
@pytest.mark.parametrize(
    ("seconds", "answer", "gathered"),
    [
        *[(60.0, 60.0, 59.950), (9.0, 9.0, 8.950), (0.25, 0.25, 0.225), (0.048, 0.048, 0.040), (0.037, 0.037, 0.029)],
        *[(0.020, 0.020, 0.012), (0.010, 0.010, 0.006), (0.005, 0.005, 0.003), (-1, 0, 0)],
    ],
)
def test_the_answer_is_due_and_gathering_ends_eight_milliseconds_before(seconds: float, answer: float, gathered: float) -> None:
    """Any deadline as given; of one below 20 ms three fifths are for gathering."""
    found = Deadline.of(100.0, seconds)
    assert found.answer == pytest.approx(100.0 + answer)
    assert found.gathered == pytest.approx(100.0 + gathered)


@pytest.mark.requirement("GATHER-2")
def test_without_a_deadline_there_is_no_hurry() -> None:
    none = Deadline.of(100.0, None)
    assert (none.answer, none.gathered, none.patience(1e9), none.missed(1e9)) == (None, None, None, False)


@given(st.floats(0, 1e6), st.floats(-1, 1), st.floats(-1, 1))
def test_no_call_is_awaited_for_less_than_nothing(began: float, seconds: float, later: float) -> None:
    """And none where the answer is overdue; 2 ms before that, its writing begins."""
    deadline, now = Deadline.of(began, seconds), began + later
    patience = deadline.patience(now)
    assert patience is not None
    assert patience >= 0
    assert not (deadline.missed(now) and patience > 0)
    assert patience == pytest.approx(max(0.0, max(0.0, seconds) - later - 0.002), abs=1e-6)
