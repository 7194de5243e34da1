"""Abandoned tasks: cancelled tasks that nobody waits for, kept until they end, counted and bounded."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

__all__ = ["Abandoned"]


class Abandoned:
    """Holds abandoned tasks by name. The bound is per name, so that a source whose tasks never end is shed without affecting
    other sources. `total` counts all tasks ever abandoned; the length counts those that haven't ended yet."""

    def __init__(self, max_per_name: int = 32) -> None:
        self._tasks: dict[asyncio.Future[Any], str] = {}
        self._unfinished: Counter[str] = Counter()
        self._max_per_name = max_per_name
        self.total = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def sheds(self, name: str) -> bool:
        """Whether so many tasks of this name are unfinished that no more may be started."""
        return self._unfinished[name] >= self._max_per_name

    def take(self, task: asyncio.Future[Any], name: str) -> None:
        """Cancels the task without waiting for it. A finished task may be given too: its exception is retrieved, so that
        asyncio doesn't log it."""
        self.total += not task.done()
        task.cancel()
        self._tasks[task] = name
        self._unfinished[name] += 1
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Future[Any]) -> None:
        self._unfinished[self._tasks.pop(task)] -= 1
        if not task.cancelled():
            task.exception()
