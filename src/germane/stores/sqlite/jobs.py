"""Jobs: calls that a thread runs, and the delivery of their results to the event loops that wait for them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any


class Job:
    """One call: a thread runs `work`, and its outcome or error settles the `result` on `loop`. `cancelled` says that the caller
    no longer waits."""

    __slots__ = ("_result", "cancelled", "error", "loop", "outcome", "work")

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self._result: asyncio.Future[Any] | None = self.loop.create_future()
        self.cancelled = False
        self.outcome: Any = None
        self.error: BaseException | None = None

    @property
    def result(self) -> asyncio.Future[Any]:
        """What its caller awaits, from when the job is made until it is settled."""
        assert self._result is not None
        return self._result

    def settle(self) -> None:
        """Sets the result, and lets go of it; runs on `loop`. An error's traceback holds frames that hold the job: had that the
        error or the result still, all of it would wait for the garbage collector."""
        result, error = self._result, self.error
        self._result = self.error = None
        if result is None or result.done():
            return
        if error is None:
            result.set_result(self.outcome)
        else:
            result.set_exception(error)


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
