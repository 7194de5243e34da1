"""Time warp: the loop is exact, takes no real time, and waits for threads."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from germane_testing import time_warp
from germane_testing.time_warp import warped


@warped
async def test_a_sleep_takes_exactly_its_time_and_none_of_ours() -> None:
    """The clock lands on the timer to the nanosecond."""
    loop = asyncio.get_running_loop()
    started = time.monotonic()
    await asyncio.sleep(3600.1)
    await asyncio.sleep(0.2)
    assert loop.time() == 3600.3
    assert time.monotonic() - started < 600


@warped
async def test_of_two_waits_the_shorter_ends_first() -> None:
    """Timers fire in the order of their times, whatever the order they were set in."""
    ended: list[float] = []

    async def wait(seconds: float) -> None:
        await asyncio.sleep(seconds)
        ended.append(asyncio.get_running_loop().time())

    await asyncio.gather(wait(3), wait(1), wait(2))
    assert ended == [1, 2, 3]


@warped
async def test_a_deadline_passes_when_the_work_hangs() -> None:
    """The time-out ends at its time although the task never does."""
    hanging = asyncio.ensure_future(asyncio.get_running_loop().create_future())
    _, pending = await asyncio.wait([hanging], timeout=0.04)
    assert pending == {hanging}
    assert asyncio.get_running_loop().time() == 0.04
    hanging.cancel()


@warped
async def test_work_in_a_thread_holds_the_clock() -> None:
    """The warped time-out is long over, but the result of the thread comes first."""
    never = threading.Event()
    assert await asyncio.wait_for(asyncio.to_thread(never.wait, 0.02), timeout=0.001) is False
    assert asyncio.get_running_loop().time() == 0


def test_a_thread_that_hangs_holds_the_clock_no_longer_than_its_patience() -> None:
    """After its patience the loop moves the clock without the thread."""
    gate = threading.Event()

    async def main() -> float:
        work = asyncio.ensure_future(asyncio.to_thread(gate.wait, 60))
        await asyncio.wait([work], timeout=5)
        gate.set()
        await work
        return asyncio.get_running_loop().time()

    assert time_warp.run(main(), patience=0.01) == 5


def test_waiting_for_nothing_is_an_error_not_a_hang() -> None:
    """Without timer, thread or ready task the test would hang for ever."""

    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="something that never comes"):
        time_warp.run(main(), patience=0.01)


def test_with_grace_a_foreign_thread_reports_before_the_clock_jumps() -> None:
    """With `grace` the loop waits for a thread that it doesn't know."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[None] = loop.create_future()
        threading.Thread(target=lambda: loop.call_soon_threadsafe(answer.set_result, None)).start()
        await asyncio.wait([answer], timeout=1000)
        return loop.time()

    assert time_warp.run(main(), grace=60) == 0
