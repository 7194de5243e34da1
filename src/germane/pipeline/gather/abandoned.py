"""Abandoned: tasks nobody waits for any more, kept until they end, counted and bounded."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

__all__ = ["Abandoned"]


class Abandoned:
    """Bounded by name, so that a source that never ends is shed and takes no other with it. `total` counts all there ever
    were; its length is how many haven't ended yet."""

    def __init__(self, most: int = 32) -> None:
        self._tasks: dict[asyncio.Future[Any], str] = {}
        self._left: Counter[str] = Counter()
        self._most = most
        self.total = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def sheds(self, name: str) -> bool:
        """Whether no more tasks of this name should be begun."""
        return self._left[name] >= self._most

    def take(self, task: asyncio.Future[Any], name: str) -> None:
        """Cancels it and waits for nothing. One that is done is taken too: what it raised is for no log."""
        self.total += not task.done()
        task.cancel()
        self._tasks[task] = name
        self._left[name] += 1
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Future[Any]) -> None:
        self._left[self._tasks.pop(task)] -= 1
        if not task.cancelled():
            task.exception()
