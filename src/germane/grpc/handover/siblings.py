"""Siblings: the other workers of one service, as a worker sees them: which of them has less to do, and how to ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from germane.grpc.handover.sibling_link import SiblingLink
from germane.grpc.handover.sibling_port import SiblingPort, Take
from germane.grpc.handover.worker_loads import WorkerLoads, WorkerPlace
from germane.observe.traffic import HANDOVERS

__all__ = ["Siblings"]

_CONNECT_SECONDS = 0.2
"""Between two attempts to connect to siblings that aren't connected."""


class Siblings:
    """For the port's loop, from `open` to `close`. A worker whose socket can't be made answers all its calls itself."""

    def __init__(self, place: WorkerPlace) -> None:
        self._place = place
        self._takes: list[Take] = []
        self._links = [SiblingLink(index, place.socket(index)) for index in place.siblings]
        self._loads: WorkerLoads | None = None
        self._port: SiblingPort | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._running = 0
        self.handed_over = dict.fromkeys(HANDOVERS, 0)
        """Calls that siblings took so far, by outcome. No key is ever added, so any thread may read it."""

    def add(self, take: Take) -> int:
        """Adds a method that siblings may call, and returns its number. All workers add the same ones in the same order."""
        self._takes.append(take)
        return len(self._takes) - 1

    async def open(self) -> None:
        """Takes calls of siblings from now on, and connects to them."""
        with suppress(OSError):  # such as a folder whose path is too long for a socket
            self._loads = WorkerLoads(self._place)
            self._port = SiblingPort(self._place.socket(self._place.index), self._takes)
            await self._port.open()
            self._loads.publish(self._running)
            self._connecting = asyncio.create_task(self._connect())

    async def close(self) -> None:
        """Takes and hands over no more calls. Idempotent."""
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        for link in self._links:
            link.close()
        if self._port is not None:
            await self._port.close()
        loads, self._loads = self._loads, None
        if loads is not None:
            loads.close()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Counts the block as an assembly of this worker."""
        self._running += 1
        self._publish()
        try:
            yield
        finally:
            self._running -= 1
            self._publish()

    def less_busy(self) -> SiblingLink | None:
        """Returns the sibling that runs the fewest assemblies, if they are fewer than this worker's own; else None."""
        if self._loads is None or not self._running:
            return None
        best, least = None, self._running
        for link in self._links:
            load = self._loads.of(link.index) if link.usable else None
            if load is not None and (load := max(load, link.waiting)) < least:  # those on their way aren't in its number yet
                best, least = link, load
        return best

    def _publish(self) -> None:
        if self._loads is not None:
            self._loads.publish(self._running)

    async def _connect(self) -> None:
        while True:
            for link in self._links:
                await link.connect()
            await asyncio.sleep(_CONNECT_SECONDS)
