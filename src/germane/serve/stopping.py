"""Stopping: when a process of the service should end: it was told so, or the process that began it is gone."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Stopping"]


class Stopping:
    """`at_once` after the second signal: whoever asks twice doesn't want to wait."""

    def __init__(self) -> None:
        self._asked, self._hurried = asyncio.Event(), asyncio.Event()

    @contextmanager
    def watched(self) -> Iterator[Stopping]:
        """Signals are this one's while it lasts. A terminal's interrupt reaches the whole family: the parent passes it on."""
        loop, parent = asyncio.get_running_loop(), multiprocessing.parent_process()
        loop.add_signal_handler(signal.SIGTERM, self.ask)
        loop.add_signal_handler(signal.SIGINT, self.ask if parent is None else _left)
        if parent is not None:
            loop.add_reader(parent.sentinel, self._orphaned, parent.sentinel)
        try:
            yield self
        finally:
            if parent is not None:
                loop.remove_reader(parent.sentinel)
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def ask(self) -> None:
        if self._asked.is_set():
            self._hurried.set()
        self._asked.set()

    async def asked(self) -> None:
        await self._asked.wait()

    async def at_once(self) -> None:
        await self._hurried.wait()

    def _orphaned(self, sentinel: int) -> None:
        asyncio.get_running_loop().remove_reader(sentinel)
        self.ask()


def _left() -> None:
    """To the parent."""
