"""Jobs: calls that a thread runs, and the delivery of their results to the event loops that wait for them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["Job", "deliver"]


class Job:
    """One call: a thread runs `work`, and its outcome or error settles `future` on `loop`. `cancelled` says that the caller no
    longer waits."""

    __slots__ = ("cancelled", "error", "future", "loop", "outcome", "work")

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.cancelled = False
        self.outcome: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Sets the future's result; runs on `loop`."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.outcome)
        else:
            self.future.set_exception(self.error)


def deliver(jobs: Iterable[Job]) -> None:
    """Settles all jobs, waking each event loop once. Jobs of a closed loop are dropped. Thread-safe."""
    waiting: dict[asyncio.AbstractEventLoop, list[Job]] = defaultdict(list)
    for job in jobs:
        waiting[job.loop].append(job)
    for loop, settled in waiting.items():
        try:
            loop.call_soon_threadsafe(_settle, settled)
        except RuntimeError:
            continue


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        job.settle()
