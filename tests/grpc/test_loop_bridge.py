"""Loop bridge: what the port's own event loop changes in the process, that it is undone, and how work crosses between loops."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from weakref import ref

import pytest

from germane.grpc.server.port import LoopBridge


@pytest.fixture(autouse=True)
def usual_interval() -> Iterator[float]:
    """A switch interval that no bridge sets, exact in binary; the process's own is put back."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.015625)
    yield 0.015625
    sys.setswitchinterval(before)


async def test_a_bridge_lowers_the_switch_interval_while_it_is_open(usual_interval: float) -> None:
    """The process gets its own value back, however often the bridge is closed."""
    bridge = LoopBridge()
    await bridge.open()
    assert sys.getswitchinterval() < usual_interval
    await bridge.close()
    await bridge.close()
    assert sys.getswitchinterval() == usual_interval


async def test_the_last_of_two_bridges_restores_the_switch_interval(usual_interval: float) -> None:
    """In whichever order they are closed."""
    first, second = LoopBridge(), LoopBridge()
    await first.open()
    lowered = sys.getswitchinterval()
    await second.open()
    await first.close()
    assert sys.getswitchinterval() == lowered
    await second.close()
    assert sys.getswitchinterval() == usual_interval


async def test_a_switch_interval_that_was_set_meanwhile_stays() -> None:
    """The bridge restores only what it has changed itself."""
    bridge = LoopBridge()
    await bridge.open()
    sys.setswitchinterval(0.03125)
    await bridge.close()
    assert sys.getswitchinterval() == 0.03125


async def test_a_shorter_switch_interval_is_left_alone() -> None:
    """Then there is nothing to restore either."""
    sys.setswitchinterval(0.000125)
    bridge = LoopBridge()
    await bridge.open()
    assert sys.getswitchinterval() == 0.000125
    await bridge.close()
    assert sys.getswitchinterval() == 0.000125


@asynccontextmanager
async def opened() -> AsyncIterator[LoopBridge]:
    bridge = LoopBridge()
    await bridge.open()
    try:
        yield bridge
    finally:
        await bridge.close()


async def turn() -> None:
    """A turn of the loop that runs it."""


class Unwelcome(Exception):
    """An error that can be referred to weakly."""


async def test_work_runs_on_the_other_loop_and_its_result_comes_back() -> None:
    """Both ways, one inside the other."""
    async with opened() as bridge:
        own = asyncio.get_running_loop()

        async def on_engine() -> str:
            assert asyncio.get_running_loop() is own
            return "answer"

        async def on_port() -> str:
            assert asyncio.get_running_loop() is not own
            return await bridge.on_engine(on_engine)

        assert await bridge.on_port(on_port) == "answer"


async def test_an_error_crosses_and_leaves_nothing_for_the_garbage_collector() -> None:
    """Its traceback holds the frames of the call, with the caller's request."""
    gc.disable()
    try:
        async with opened() as bridge:
            found = list[ref[Unwelcome]]()

            async def fail() -> None:
                error = Unwelcome()
                found.append(ref(error))
                try:
                    raise error
                finally:
                    del error

            async def on_port() -> None:
                try:
                    await bridge.on_engine(fail)
                except Unwelcome:
                    return
                raise AssertionError

            await bridge.on_port(on_port)
            for _ in range(3):  # turns of both loops, which still hold what they have just run
                await bridge.on_port(turn)
            assert found[0]() is None
    finally:
        gc.enable()


async def test_cancelling_the_caller_cancels_the_work_and_does_not_wait_for_it() -> None:
    """The work may refuse to end."""
    async with opened() as bridge:
        begun, cancelled, let_go = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def stubborn() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
                await let_go.wait()

        async def on_port() -> bool:
            calling = asyncio.create_task(bridge.on_engine(stubborn))
            await bridge.on_engine(begun.wait)
            calling.cancel()
            await asyncio.wait([calling])
            return calling.cancelled()

        assert await bridge.on_port(on_port)
        assert not let_go.is_set()
        await cancelled.wait()
        let_go.set()


async def test_work_that_is_cancelled_on_its_own_loop_cancels_the_wait_for_it() -> None:
    """Before it begins too: nobody waits for ever."""
    async with opened() as bridge:

        async def give_up() -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)

        async def on_port() -> bool:
            calling = asyncio.create_task(bridge.on_engine(give_up))
            await asyncio.wait([calling])
            return calling.cancelled()

        assert await bridge.on_port(on_port)


async def test_work_that_its_loop_cancels_before_it_begins_is_not_waited_for() -> None:
    """As the end of a loop does with all of its tasks."""
    async with opened() as bridge:
        before = asyncio.all_tasks()

        async def never() -> None:
            raise AssertionError

        async def on_port() -> bool:
            calling = asyncio.create_task(bridge.on_engine(never))
            await asyncio.wait([calling])
            return calling.cancelled()

        crossing = asyncio.ensure_future(bridge.on_port(on_port))
        await asyncio.sleep(0)
        while not (new := [one for one in asyncio.all_tasks() - before if one is not crossing]):  # noqa: ASYNC110
            await asyncio.sleep(0)
        for one in new:
            one.cancel()
        assert await crossing
