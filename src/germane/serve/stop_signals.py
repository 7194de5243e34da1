"""Stop signals: tells a process of the service to stop: a signal came, or its parent process has died."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["StopSignals"]


class StopSignals:
    """Counts requests to stop: the first asks for an orderly end, the second for an end without waiting."""

    def __init__(self) -> None:
        self._first, self._second = asyncio.Event(), asyncio.Event()

    @contextmanager
    def installed(self) -> Iterator[StopSignals]:
        """Handles SIGTERM and SIGINT inside the block. A worker ignores SIGINT: a terminal sends it to parent and workers,
        and the parent passes it on as SIGTERM. A worker whose parent dies stops as if it had received a signal."""
        loop, parent = asyncio.get_running_loop(), multiprocessing.parent_process()
        loop.add_signal_handler(signal.SIGTERM, self.receive)
        loop.add_signal_handler(signal.SIGINT, self.receive if parent is None else _ignore)
        if parent is not None:
            loop.add_reader(parent.sentinel, self._orphaned, parent.sentinel)
        try:
            yield self
        finally:
            if parent is not None:
                loop.remove_reader(parent.sentinel)
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def receive(self) -> None:
        """Counts one request to stop."""
        if self._first.is_set():
            self._second.set()
        self._first.set()

    async def first(self) -> None:
        """Waits for the first request to stop."""
        await self._first.wait()

    async def second(self) -> None:
        """Waits for the second request to stop."""
        await self._second.wait()

    def _orphaned(self, sentinel: int) -> None:
        asyncio.get_running_loop().remove_reader(sentinel)
        self.receive()


def _ignore() -> None:
    """The parent passes the signal on."""
