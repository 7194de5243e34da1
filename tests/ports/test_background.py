"""A thread in the background rests between its steps, and stands back while an assembly is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from germane.ports.background import Background, Throttle
from germane_testing.time_warp import warped


class Time:
    """Seconds that pass when somebody works or sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def steady(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


def test_short_steps_are_not_interrupted(time: Time) -> None:
    breath = Throttle(lambda: False, steady=time.steady, sleep=time.sleep)
    for _ in range(4):
        time.now += 0.0001
        breath()
    assert time.slept == []


def test_after_half_a_millisecond_of_work_it_rests_once(time: Time) -> None:
    breath = Throttle(lambda: False, steady=time.steady, sleep=time.sleep)
    time.now += 0.0006
    breath()
    breath()
    assert time.slept == [0.00005]


def test_it_stands_back_until_the_assembly_has_ended(time: Time) -> None:
    looks: Iterator[bool] = iter([True, True, True, False])
    breath = Throttle(lambda: next(looks), steady=time.steady, sleep=time.sleep)
    time.now += 0.0006
    breath()
    assert time.slept == [0.00005, 0.001, 0.001, 0.001]


@pytest.mark.requirement("ENGINE-4")
def test_it_goes_on_in_the_end_however_busy_everybody_is(time: Time) -> None:
    """Ten milliseconds at most: a recording isn't kept from ending."""
    breath = Throttle(lambda: True, steady=time.steady, sleep=time.sleep)
    time.now += 0.0006
    breath()
    assert sum(time.slept) == pytest.approx(0.010, abs=0.0011)


def test_while_no_assembly_is_at_work_the_pauses_may_be_further_apart(time: Time) -> None:
    breath = Throttle(lambda: False, quiet=0.002, steady=time.steady, sleep=time.sleep)
    for _ in range(6):
        time.now += 0.0006
        breath()
    assert time.slept == [0.00005]


@pytest.mark.requirement("LIMITS-3")
def test_for_an_assembly_it_stands_back_after_half_a_millisecond_all_the_same(time: Time) -> None:
    looks: Iterator[bool] = iter([True, True, False])
    breath = Throttle(lambda: next(looks), quiet=0.002, steady=time.steady, sleep=time.sleep)
    time.now += 0.0006
    breath()
    assert time.slept == [0.00005, 0.001]


@warped
async def test_on_an_event_loop_one_step_is_done_at_a_time() -> None:
    background, order = Background(lambda: False), list[str]()

    async def stepping(name: str) -> None:
        async with background.step():
            order.append(f"{name} begins")
            await asyncio.sleep(0.001)
            order.append(f"{name} ends")

    await asyncio.gather(stepping("one"), stepping("two"))
    background.close()
    assert order == ["one begins", "one ends", "two begins", "two ends"]


@pytest.mark.requirement("LIMITS-3")
@warped
async def test_a_step_stands_back_for_an_assembly_but_not_for_ever() -> None:
    """Until it has ended, or for ten milliseconds."""
    loop, busy = asyncio.get_running_loop(), [True]
    background = Background(lambda: busy[0])
    loop.call_later(0.004, lambda: busy.__setitem__(0, False))
    async with background.step():
        assert loop.time() == pytest.approx(0.004, abs=0.0011)
    busy[0], began = True, loop.time()
    async with background.step():
        assert loop.time() - began == pytest.approx(0.010, abs=0.0011)
    background.close()
