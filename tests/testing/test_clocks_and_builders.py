"""Clocks and builders: clocks that a test controls, and values with defaults."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from germane_testing.builders import MOMENT, candidate, message
from germane_testing.time_warp import Ticking, fixed


def test_a_fixed_clock_stands_still() -> None:
    """Every reading is the same moment, in UTC."""
    clock = fixed(datetime(2026, 3, 1))
    assert clock.now() == clock.now() == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_ticking_clock_moves_on_with_every_reading() -> None:
    """`now` and `steady` share one time."""
    clock = Ticking(MOMENT, timedelta(seconds=2)).clock
    assert [clock.now(), clock.steady(), clock.now()] == [MOMENT, 2.0, MOMENT + timedelta(seconds=4)]


def test_a_ticking_clock_is_moved_by_hand() -> None:
    """With a step of zero the clock moves only by hand."""
    ticking = Ticking(MOMENT, timedelta(0))
    ticking.advance(timedelta(days=1))
    assert ticking.clock.now() == ticking.clock.now() == MOMENT + timedelta(days=1)


def test_the_same_text_builds_the_same_candidate() -> None:
    """Ids and hashes come from the text."""
    assert candidate("tea") == candidate("tea")
    assert candidate("tea").id != candidate("coffee").id
    assert candidate("tea", confidence=0.5, id="x").confidence == 0.5


def test_a_message_is_a_user_turn_unless_said_otherwise() -> None:
    """All other fields have defaults."""
    assert (message("hi").role, message("hi").text) == ("user", "hi")
    assert message("hi", "assistant", id="m1").id == "m1"
