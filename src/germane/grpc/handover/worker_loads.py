"""Worker loads: how many assemblies each worker of one service runs, in a file that all of them map into memory."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["WorkerLoads", "WorkerPlace"]

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
