"""Batch writer: entries are written together, one batch at a time, and closing takes a bounded time."""

from __future__ import annotations

import asyncio

import pytest

from germane.ports.batch_writer import BatchWriter
from germane_testing.time_warp import warped


class Sink:
    """Keeps what is written. A write takes `seconds`; None hangs."""

    def __init__(self, seconds: float | None = 0.1, error: Exception | None = None) -> None:
        self.seconds, self.error = seconds, error
        self.batches: list[list[int]] = []
        self.under_way = self.most_under_way = 0

    async def write(self, batch: list[int]) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await (asyncio.Event().wait() if self.seconds is None else asyncio.sleep(self.seconds))
        self.under_way -= 1
        self.batches.append(batch)
        if self.error is not None:
            raise self.error


@warped
async def test_entries_of_a_second_are_one_batch_and_batches_are_written_one_at_a_time() -> None:
    """In the order in which they were added, an explicit flush included."""
    sink = Sink(seconds=3.0)
    writer = BatchWriter(sink.write, max_waiting=100)
    for number in range(50):
        assert writer.add([number])
        await asyncio.sleep(0.1)
    await writer.flush()
    await writer.close()
    assert sink.most_under_way == 1
    assert [number for batch in sink.batches for number in batch] == list(range(50))
    assert len(sink.batches) <= 4


@warped
async def test_what_waits_is_bounded_and_refused_as_a_whole() -> None:
    """Entries that were added together are queued together or not at all; a closed writer takes none."""
    sink = Sink(seconds=None)
    writer = BatchWriter(sink.write, max_waiting=3)
    assert writer.add([1, 2])
    assert not writer.add([3, 4])
    assert writer.add([3])
    assert len(writer) == 3
    await writer.close()
    assert not writer.add([5])


@warped
async def test_a_write_that_fails_costs_its_batch_alone() -> None:
    """Nothing is raised, and the next batch is written."""
    sink = Sink(error=RuntimeError("odd"))
    writer = BatchWriter(sink.write, max_waiting=3)
    writer.add([1])
    await asyncio.sleep(2)
    writer.add([2])
    await writer.flush()
    assert sink.batches == [[1], [2]]
    await writer.close()


@pytest.mark.parametrize("after", [0.0, 0.5, 1.5, 60.0])
@warped
async def test_closing_returns_within_five_seconds_though_the_write_hangs(after: float) -> None:
    """Whether the write hung before or begins with the closing. No task is left, and closing twice does no harm."""
    writer = BatchWriter(Sink(seconds=None).write, max_waiting=10)
    writer.add([1])
    await asyncio.sleep(after)
    writer.add([2])
    began = asyncio.get_running_loop().time()
    await writer.close()
    assert asyncio.get_running_loop().time() - began <= 5.0
    await writer.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
