"""Siblings: the other workers of one service: which of them has less to do, and how to ask it."""

from __future__ import annotations

import asyncio
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from germane.grpc.handover.sibling_link import SiblingLink, SiblingPort, Take
from germane.types.traffic import HANDOVERS

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


# How many assemblies each worker of one service runs, in a file that all of them map into memory.


_BYTES = 4
"""Of one worker's number. Aligned, so that no reader sees half of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlace:
    """A worker's index among the `count` workers of one service, and the private folder that they share."""

    index: int
    count: int
    folder: Path

    @property
    def siblings(self) -> tuple[int, ...]:
        """The indexes of the other workers."""
        return tuple(index for index in range(self.count) if index != self.index)

    def socket(self, index: int) -> Path:
        """The Unix socket on which the worker `index` takes calls from its siblings."""
        return self.folder / f"worker-{index}"


class WorkerLoads:
    """The loads of all workers. Each worker writes only its own number, so there is no lock. `close` it."""

    def __init__(self, place: WorkerPlace) -> None:
        self._index = place.index
        descriptor = os.open(place.folder / "loads", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, place.count * _BYTES)  # a new file holds zeros: no worker takes calls
            self._map = mmap.mmap(descriptor, place.count * _BYTES)
        finally:
            os.close(descriptor)
        self._numbers = memoryview(self._map).cast("i")

    def publish(self, running: int | None) -> None:
        """Sets this worker's load; None says that it takes no calls."""
        self._numbers[self._index] = 0 if running is None else running + 1

    def of(self, index: int) -> int | None:
        """Returns the load of a worker, None for one that takes no calls."""
        number = self._numbers[index]
        return number - 1 if number else None

    def close(self) -> None:
        """Says that this worker takes no more calls, and releases the file. Idempotent."""
        if not self._map.closed:
            self.publish(None)
            self._numbers.release()
            self._map.close()
