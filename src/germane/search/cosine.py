"""Cosine: exact cosine similarity of every unit and its window with the query's vector.

The dot products with all rows of a large partition are shared by two threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition
from germane.search.quantised import dots, row_dots
from germane.search.snapshot import Snapshot
from germane.types.query import Vector

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """Both of shape (rows,). `own` is q · v, the unit's cosine; `sums` is q · (v + ½ v_before + ½ v_after), the dot product of
    the query with the window's vector, which `windows` turns into a cosine."""

    own: Floats
    sums: Floats


def cosines(own: Floats, snapshot: Snapshot) -> Cosines:
    """`own` are the dot products of the snapshot's rows; a window's is the weighted sum over its three units."""
    return Cosines(own=own, sums=own + np.float32(0.5) * snapshot.neighbour_sum(own))


def windows(partition: Partition, near: Cosines, snapshot: Snapshot, rows: NDArray[np.intp]) -> Floats:
    """Returns the cosines of the windows of `rows`, shape (len(rows),). Window lengths are computed for these few rows only:
    stored for all rows, each would have to be updated whenever a neighbour changes.

    The length of u + v + w is the root of u·u + v·v + w·w + 2 (u·v + u·w + v·w): six products of 8-bit vectors, so that none of
    them is written out in floating point.
    """
    vectors, scales = partition.columns["vector"], partition.columns["scale"]
    window: list[tuple[NDArray[np.int8], NDArray[np.float64]]] = []
    links: list[tuple[NDArray[np.integer], float]] = [(rows, 1.0)]
    if snapshot.linked:
        links += [(snapshot.before.take(rows), 0.5), (snapshot.after.take(rows), 0.5)]
    for link, weight in links:
        scale = np.where(link < snapshot.rows, weight * scales.take(link, mode="clip"), 0.0)
        window.append((vectors.take(link, axis=0, mode="clip"), scale))
    squares = np.zeros(len(rows))
    for index, (values, scale) in enumerate(window):
        squares += scale**2 * row_dots(values, values)
        for others, their_scale in window[:index]:
            squares += 2 * scale * their_scale * row_dots(values, others)
    cosine: Floats = (near.sums.take(rows) / np.sqrt(np.maximum(squares, 1e-12))).astype(np.float32)
    return cosine


# The kernels release the interpreter lock. So a helper thread multiplies while the search itself scores words; then the
# search takes part, too. The thread that is free takes the next chunk of rows: where the machine is busy, the search
# does all of it, and waits for one chunk at most. Measured with a million rows, a search takes a quarter less time, and
# a sixth more of the processors (both read memory at once); with 100,000 it takes as long.


_CHUNK = 1 << 16
"""Rows that are multiplied between two looks at `stop`: a millisecond."""
_MIN_SHARED_ROWS = 200_000
"""Rows from which a helper saves time."""
_HELPERS = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) - 1))
"""One processor is left to the searches themselves. Where all helpers are at work, a search does without."""


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
        if rows >= _MIN_SHARED_ROWS:
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
