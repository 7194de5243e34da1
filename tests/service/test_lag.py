"""The event loop's lag: how it is measured, when it is too much, and where the watchdog finds the loop."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from germane.service.readiness import Heartbeat, Lag, LoopWatchdog
from germane_testing.time_warp import warped
from support.log_lines import kept

pytestmark = pytest.mark.requirement("OPS-1")


def noted(lag: Lag, *seconds: float) -> bool:
    for one in seconds:
        lag.record(one)
    return lag.ok


def test_one_late_tick_turns_nothing_off() -> None:
    """An outlier isn't an overload."""
    assert noted(Lag(0.05), 0.001, 0.08, 0.08, 0.001)


def test_several_late_ticks_in_a_row_do() -> None:
    """Three."""
    assert not noted(Lag(0.05), 0.001, 0.08, 0.06, 0.051)


def test_one_tick_that_is_very_late_does_too() -> None:
    """It counts for the ticks that didn't happen in its time."""
    assert not noted(Lag(0.05), 0.35)


def test_it_is_fine_again_after_a_second_of_good_ticks() -> None:
    """Not after the first: it would go on and off."""
    lag = Lag(0.05)
    assert not noted(lag, 1.0, *[0.001] * 9)
    assert noted(lag, 0.001)
    assert not noted(lag, 0.2, 0.2)


def test_the_99th_percentile_is_of_the_last_minute() -> None:
    """Six hundred ticks."""
    lag = Lag(0.05)
    assert lag.p99 == 0
    noted(lag, *[0.01] * 10)
    assert lag.p99 == 0.01
    noted(lag, *[0.001] * 600)
    assert lag.p99 == lag.last == 0.001


@warped
async def test_a_pulse_tells_ten_times_a_second_how_late_it_was() -> None:
    """Until it is stopped."""
    told: list[float] = []
    pulse = Heartbeat(told.append, now=asyncio.get_running_loop().time)
    pulse.start()
    await asyncio.sleep(1.05)
    pulse.stop()
    pulse.stop()
    await asyncio.sleep(1)
    assert told == [pytest.approx(0, abs=1e-6)] * 10
    assert pulse.last_beat == pytest.approx(1.0)


@warped
async def test_a_tick_that_comes_late_says_by_how_much() -> None:
    """The loop was busy with something else: here the clock has moved on when it comes round."""
    loop, passed = asyncio.get_running_loop(), [0.0]
    told: asyncio.Queue[float] = asyncio.Queue()
    pulse = Heartbeat(told.put_nowait, now=lambda: loop.time() + passed[0])
    pulse.start()
    passed[0] = 10.0
    assert await told.get() == pytest.approx(10)
    assert await told.get() == pytest.approx(0, abs=1e-6)
    pulse.stop()


class Hands:
    """A clock and a last beat that the test sets."""

    now = beat = 100.0


def test_a_loop_that_hangs_is_told_once_with_the_place() -> None:
    """Files and lines, no values; and once more when it is over."""
    log, hands = kept(), Hands()
    blocked = LoopWatchdog(log.logs, last_beat=lambda: hands.beat, now=lambda: hands.now)
    for now, beat in [(100.9, 100.0), (101.1, 100.0), (102.0, 100.0), (102.6, 102.5), (102.7, 102.5)]:
        hands.now, hands.beat = now, beat
        blocked.check()
    first, second = log.lines()
    assert (first["event"], first["seconds"]) == ("loop_blocked", 1.1)
    assert (second["event"], second["seconds"]) == ("loop_free", 2.5)
    assert any(place.startswith("service/test_lag.py:") for place in first["stack"])


def test_the_watching_thread_sees_where_the_other_stands() -> None:
    """The watchdog's thread logs the line at which the other thread waits."""
    log, begun, looked = kept(), threading.Event(), threading.Event()
    secret = " ".join(["open", "sesame"])

    def begin() -> bool:
        begun.set()
        return True

    def hangs(text: str) -> bool:
        return begin() and looked.wait(30)  # in one line, which is what the log must name

    blocked = LoopWatchdog(log.logs, last_beat=lambda: 0.0 if begun.is_set() else 2.0, now=lambda: 2.0, limit=0.01)
    real = blocked.check

    def look() -> None:
        hanging = begun.is_set()
        real()
        if hanging:
            looked.set()

    blocked.check = look  # type: ignore[method-assign]
    blocked.start()
    hangs(secret)
    blocked.stop()
    (line,) = log.lines()
    here = hangs.__code__.co_firstlineno + 1
    assert f"service/test_lag.py:{here}" in line["stack"]
    assert "sesame" not in json.dumps(line)
