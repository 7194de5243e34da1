"""Readiness: off while the store doesn't answer, the loop lags or it is stopping; on again by itself."""

from __future__ import annotations

import asyncio

import pytest

from germane.service.readiness import Readiness
from germane_testing.time_warp import warped

pytestmark = pytest.mark.requirement("OPS-1")


class Store:
    """A store that answers, fails or hangs, by its `mood`."""

    def __init__(self) -> None:
        self.mood, self.asked = "fine", 0
        self.freed = asyncio.Event()

    async def probe(self) -> None:
        self.asked += 1
        if self.mood == "fails":
            raise OSError("disk on fire")
        if self.mood == "hangs":
            await self.freed.wait()


@warped
async def test_it_is_ready_once_the_store_has_answered() -> None:
    """And not any more from when it is told to stop."""
    store = Store()
    readiness = Readiness(store.probe)
    assert readiness.reasons == ("starting",)
    running = asyncio.create_task(readiness.run())
    await asyncio.sleep(0.1)
    assert readiness.ready
    readiness.stop()
    assert readiness.reasons == ("stopping",)
    running.cancel()


@warped
async def test_a_store_that_hangs_turns_it_off_and_is_asked_once_only() -> None:
    """A second question would hang too, and a third."""
    store = Store()
    readiness = Readiness(store.probe)
    running = asyncio.create_task(readiness.run())
    await asyncio.sleep(0.1)
    store.mood = "hangs"
    await asyncio.sleep(60)
    assert readiness.reasons == ("store_not_answering",)
    assert store.asked == 2
    store.mood = "fine"
    store.freed.set()
    await asyncio.sleep(0.1)
    assert readiness.ready
    running.cancel()


@warped
async def test_a_store_that_fails_turns_it_off_until_it_answers() -> None:
    """The exception isn't logged or raised."""
    store = Store()
    store.mood = "fails"
    readiness = Readiness(store.probe)
    running = asyncio.create_task(readiness.run())
    await asyncio.sleep(0.1)
    assert readiness.reasons == ("store_not_answering",)
    store.mood = "fine"
    await asyncio.sleep(1.1)
    assert readiness.ready
    running.cancel()


@warped
async def test_a_loop_that_lags_turns_it_off_as_long_as_it_does() -> None:
    """All reasons are told."""
    fine = [False]
    readiness = Readiness(Store().probe, loop_ok=lambda: fine[0])
    running = asyncio.create_task(readiness.run())
    await asyncio.sleep(0.1)
    found = [readiness.reasons]
    readiness.stop()
    found.append(readiness.reasons)
    fine[0] = True
    found.append(readiness.reasons)
    assert found == [("loop_lag",), ("stopping", "loop_lag"), ("stopping",)]
    running.cancel()


@warped
async def test_whoever_wants_to_know_asks_no_store() -> None:
    """Many health checks cause no query of the store."""
    store = Store()
    readiness = Readiness(store.probe)
    running = asyncio.create_task(readiness.run())
    await asyncio.sleep(0.1)
    assert all(readiness.ready for _ in range(1000))
    assert store.asked == 1
    running.cancel()
