"""Readers: threads that read, each with a connection of its own, so that nothing blocks the event loop.

Cancelling the task that waits makes SQLite and the search stop at their next step; the thread is free again soon after.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import apsw

from germane.errors import StoreUnavailable
from germane.stores.sqlite.database import Database
from germane.stores.sqlite.delivery import Job, deliver
from germane.stores.sqlite.failures import read_as

__all__ = ["Readers", "Reading"]

T = TypeVar("T")
_STEPS = 2000
"""SQLite's virtual machine steps between two looks at whether anybody still waits."""


class Reading:
    """One thread's connection, inside a snapshot, and whether to go on."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._stopped: Callable[[], bool] = lambda: False
        self._shielded = False
        connection.set_progress_handler(self.stop, _STEPS)

    def stop(self) -> bool:
        return not self._shielded and self._stopped()

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """What is done within is finished even when nobody waits: work that the next caller would only have to repeat."""
        self._shielded = True
        try:
            yield
        finally:
            self._shielded = False

    def do(self, work: Callable[[Reading], T], stopped: Callable[[], bool]) -> T:
        """`work` within one snapshot, until `stopped`."""
        self._stopped = stopped
        self.connection.execute("BEGIN")
        try:
            return work(self)
        finally:
            self._stopped = lambda: False
            if self.connection.in_transaction:
                self.connection.execute("COMMIT")


class Readers:
    def __init__(self, database: Database, count: int) -> None:
        self._name = database.name
        self._queue: queue.SimpleQueue[Job | Callable[[Reading], object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        connections = [database.connect(reading=True) for _ in range(count)]
        self._threads = [
            threading.Thread(target=self._serve, args=(connection,), name=f"germane-reader-{index}", daemon=True)
            for index, connection in enumerate(connections)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, work: Callable[[Reading], T]) -> T:
        job = Job(work)
        self._put(job)
        try:
            outcome: T = await job.future
            return outcome
        except asyncio.CancelledError:
            job.cancelled = True
            raise

    def behind(self, work: Callable[[Reading], object]) -> None:
        """Do it some time, for nobody in particular; from any thread. Nothing is told of how it went."""
        with self._lock:
            if not self._closed:
                self._queue.put(work)

    def stop(self) -> None:
        """What runs is stopped, what waits is refused."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._queue.put(None)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _put(self, job: Job) -> None:
        with self._lock:
            if self._closed:
                raise self._gone()
            self._queue.put(job)

    def _gone(self) -> StoreUnavailable:
        return StoreUnavailable(f"store {self._name!r} is closed")

    def _serve(self, connection: apsw.Connection) -> None:
        reading = Reading(connection)
        while (job := self._queue.get()) is not None:
            if not isinstance(job, Job):
                with suppress(Exception):
                    reading.do(job, lambda: self._closed)
            elif not job.cancelled:
                self._work(reading, job)
        connection.close()

    def _work(self, reading: Reading, job: Job) -> None:
        try:
            if self._closed:
                raise self._gone()
            job.outcome = reading.do(job.work, lambda: job.cancelled or self._closed)
        except BaseException as error:  # the thread must live on, and the caller be told
            job.error = self._gone() if self._closed else read_as(error, self._name)
        deliver((job,))
