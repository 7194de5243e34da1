"""Closing in another loop: what was opened in one event loop is closed in another one, as notebooks and web frameworks do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from germane import Germane
from germane.ports.batch_writer import BatchWriter, stopped
from germane_testing.builders import Hashed

pytestmark = pytest.mark.requirement("ENG-3")


def test_a_store_of_a_loop_that_is_closed_closes_in_another_one(tmp_path: Path) -> None:
    """Without an error; what was stored and counted is there afterwards, and a second close changes nothing."""
    path = tmp_path / "g.db"

    async def begin() -> Germane:
        germane = await Germane.open(path, embedder=Hashed(), warm=False, freeze=False)
        await germane.agent("a", user="u").remember("tea is in the tin")
        assert len(await germane.agent("a", user="u").search("tea")) == 1
        return germane

    async def end(germane: Germane) -> None:
        await germane.close()
        await germane.close()

    async def again() -> int:
        async with Germane.open(path, embedder=Hashed(), warm=False, freeze=False) as germane:
            return len((await germane.agent("a", user="u").memories.list()).memories)

    asyncio.run(end(asyncio.run(begin())))
    assert asyncio.run(again()) == 1


def test_what_waits_to_be_written_is_written_by_the_loop_that_closes() -> None:
    """The task that would have written it was cancelled with its loop."""
    written = list[int]()

    async def write(batch: list[int]) -> None:
        written.extend(batch)

    async def begin() -> BatchWriter[int]:
        writer = BatchWriter(write, max_waiting=10)
        writer.add([1, 2])
        return writer

    asyncio.run(asyncio.run(begin()).close())
    assert written == [1, 2]


def test_a_task_of_a_loop_that_only_rests_is_cancelled_there() -> None:
    """It isn't waited for: nobody runs its loop meanwhile."""
    other = asyncio.new_event_loop()
    try:
        task = other.create_task(asyncio.sleep(3600))
        asyncio.run(stopped([task]))
        with pytest.raises(asyncio.CancelledError):
            other.run_until_complete(task)
    finally:
        other.close()
