"""Batch writer: collects what may be written later, and writes it in batches from one task of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_PAUSE = 1.0
"""Seconds between the first entry of a batch and its write."""
_CLOSE_TIMEOUT = 5.0
"""Seconds that `close` waits for the last writes."""


async def stopped(tasks: Iterable[asyncio.Task[Any]], timeout: float | None = None) -> None:
    """Cancels tasks and waits for their end, for `timeout` seconds at most. Those of another event loop than the running one
    aren't waited for: it may be closed, as `asyncio.run` closes its loop with all that runs on it."""
    here, mine = asyncio.get_running_loop(), list[asyncio.Task[Any]]()
    for task in tasks:
        if task.get_loop() is here:
            task.cancel()
            mine.append(task)
        elif not task.done() and not task.get_loop().is_closed():
            task.get_loop().call_soon_threadsafe(task.cancel)
    if mine:
        await asyncio.wait(mine, timeout=timeout)


class BatchWriter(Generic[T]):
    """For data whose loss is acceptable, such as counters: a batch whose write fails is dropped, without a retry.

    `write` is called with one batch at a time, in the order of `add`. While a write hangs, one task waits for it and at most
    `max_waiting` entries are kept for the next batch. Belongs to one event loop; not thread-safe.
    """

    def __init__(self, write: Callable[[list[T]], Awaitable[object]], *, max_waiting: int) -> None:
        self._write, self._max_waiting = write, max_waiting
        self._waiting: list[T] = []
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    def __len__(self) -> int:
        """The number of entries that wait for their write."""
        return len(self._waiting)

    def add(self, entries: Sequence[T]) -> bool:
        """Queues all of `entries`, or none of them where the queue would grow beyond `max_waiting`, or where the writer is
        closed. Returns whether they were queued."""
        if self._closing.is_set() or len(self._waiting) + len(entries) > self._max_waiting:
            return False
        self._waiting += entries
        if self._task is None and self._waiting:
            self._task = asyncio.create_task(self._run())
        return True

    async def flush(self) -> None:
        """Writes what is queued now, after the write that is under way. Raises nothing that `write` raises."""
        async with self._one_at_a_time:
            batch, self._waiting = self._waiting, []
            if batch:
                with suppress(Exception):
                    await self._write(batch)

    async def close(self) -> None:
        """Writes what is queued and returns, after five seconds at the latest: a write that takes longer is cancelled, and what
        is left is dropped. Idempotent."""
        self._closing.set()
        if self._task is not None and self._task.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([self._task], timeout=_CLOSE_TIMEOUT)
            if self._task is not None:
                self._task.cancel()
        elif self._waiting:  # the loop that would have written it is gone
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_TIMEOUT):
                    await self.flush()

    async def _run(self) -> None:
        try:
            while self._waiting:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PAUSE):
                        await self._closing.wait()
                await self.flush()
        finally:
            self._task = None
