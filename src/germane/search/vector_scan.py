"""VectorScan: the dot products of the query's vector with all rows of a partition; two threads share them where it is large.

The kernels release the interpreter lock. So a helper multiplies while the search itself scores words; then the search takes
part, too. Whoever is free takes the next chunk of rows: where the machine is busy, the search does all of it, and waits for one
chunk at most. Measured with a million rows, a search takes a quarter less time, and a sixth more of the processors (both read
memory at once); with 100,000 it takes as long.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition
from germane.search.quantised import dots
from germane.types.query import Vector

__all__ = ["VectorScan"]

_CHUNK = 1 << 16
"""Rows that are multiplied between two looks at `stop`: a millisecond."""
_LARGE = 200_000
"""Rows from which a helper saves time."""
_HELPERS = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) - 1))
"""One processor is left to the searches themselves. Where all helpers are at work, a search does without."""

Floats = NDArray[np.float32]


class VectorScan:
    """One scan, which `begun` starts and `products` finishes. `stop` is called between chunks, by either thread; when it
    returns true, the remaining rows stay at 0."""

    def __init__(self, partition: Partition, vector: Vector, rows: int, stop: Callable[[], bool]) -> None:
        self._vectors, self._scales = partition.columns["vector"], partition.columns["scale"]
        self._vector, self._rows, self._stop = vector, rows, stop
        self._products = np.zeros(rows, np.float32)
        self._starts = iter(range(0, rows, _CHUNK))
        self._lock = threading.Lock()
        self._helper: threading.Thread | None = None
        self._error: BaseException | None = None

    @classmethod
    @contextmanager
    def begun(cls, partition: Partition, vector: Vector, rows: int, stop: Callable[[], bool]) -> Iterator[VectorScan]:
        """A scan of the first `rows` rows. When the block ends, no thread works on it any more."""
        scan = cls(partition, vector, rows, stop)
        if rows >= _LARGE:
            scan._start_helper()
        try:
            yield scan
        finally:
            scan._end()

    def products(self) -> Floats:
        """Waits until all rows are done; shape (rows,). Raises what failed in the helper."""
        self._multiply()
        self._end()
        if self._error is not None:
            raise self._error
        return self._products

    def _multiply(self) -> None:
        for start in iter(self._next, None):
            end = min(start + _CHUNK, self._rows)
            self._products[start:end] = dots(self._vectors[start:end], self._scales[start:end], self._vector)

    def _next(self) -> int | None:
        with self._lock:
            return None if self._stop() else next(self._starts, None)

    def _start_helper(self) -> None:
        if not _HELPERS.acquire(blocking=False):
            return
        try:
            helper = threading.Thread(target=self._help, name="germane-scan", daemon=True)
            helper.start()
        except RuntimeError:  # no more threads are to be had: the search does without
            _HELPERS.release()
            return
        self._helper = helper

    def _help(self) -> None:
        try:
            self._multiply()
        except BaseException as error:
            self._error = error
        finally:
            _HELPERS.release()

    def _end(self) -> None:
        """Leaves no chunk to take, and waits for the helper."""
        helper, self._helper = self._helper, None
        if helper is not None:
            with self._lock:
                self._starts = iter(())
            helper.join()
