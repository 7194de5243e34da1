"""Readers: threads for reading, each with a connection of its own, so that reads don't block the event loop.

Searches have their own threads, so that small reads (microseconds) don't wait for searches (milliseconds). Reads that are
requested in one iteration of the event loop go to one thread as a batch and return together: a thread switch costs more than
most small reads, and two threads that search for one request slow each other down.

Cancelling the waiting task stops SQLite and the search at their next step, which frees the thread.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import apsw

from germane.errors import StoreUnavailable
from germane.stores.sql.listing import VisiblePartition, visible_partitions
from germane.stores.sqlite.database import SqliteDatabase, to_store_error
from germane.stores.sqlite.jobs import Job, deliver
from germane.types.scope import Scope

T = TypeVar("T")
_Queue = queue.SimpleQueue["list[Job] | Callable[[SqliteReading], object] | None"]
_STEPS = 2000
"""Instructions of SQLite's virtual machine between two checks for cancellation."""


class SqliteReading:
    """What a read gets: its thread's connection, inside a snapshot, and `stop`, which says whether the read was cancelled."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._stopped: Callable[[], bool] = _never
        self._shielded = False
        self._visible = dict[Scope, tuple[VisiblePartition, ...]]()
        connection.set_progress_handler(self.stop, _STEPS)

    def stop(self) -> bool:
        return not self._shielded and self._stopped()

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """Within this block cancellation is ignored: for work that the next caller would have to repeat."""
        self._shielded = True
        try:
            yield
        finally:
            self._shielded = False

    def visible(self, scope: Scope) -> tuple[VisiblePartition, ...]:
        """The partitions that the scope sees, read once in a snapshot."""
        known = self._visible.get(scope)
        if known is None:
            known = self._visible[scope] = visible_partitions(self.connection, scope)
        return known

    def write_events(self) -> None:
        """See `ReadTransaction.write_events`."""

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within this block all reads see the file as it was at the first read."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self._visible.clear()
            if self.connection.in_transaction:
                self.connection.execute("COMMIT")

    def do(self, work: Callable[[SqliteReading], T], stopped: Callable[[], bool]) -> T:
        """Runs `work`, which is stopped when `stopped()` is true."""
        self._stopped = stopped
        try:
            return work(self)
        finally:
            self._stopped = _never


class SqliteReaders:
    """`count` threads for searches, and `count` threads for all other reads."""

    def __init__(self, database: SqliteDatabase, count: int) -> None:
        self._name = database.name
        self._small: _Queue = queue.SimpleQueue()
        self._large: _Queue = queue.SimpleQueue()
        self._together: dict[tuple[asyncio.AbstractEventLoop, _Queue], list[Job]] = {}
        self._lock = threading.Lock()
        self._closed = False
        lanes = [lane for lane in (self._small, self._large) for _ in range(count)]
        connections = [database.connect(reading=True) for _ in lanes]
        self._threads = [
            threading.Thread(target=self._serve, args=(connection, lane), name=f"germane-reader-{index}", daemon=True)
            for index, (connection, lane) in enumerate(zip(connections, lanes, strict=True))
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, work: Callable[[SqliteReading], T]) -> T:
        """Runs a read by itself; for reads that may take long but aren't searches."""
        job = Job(work)
        self._put(self._small, [job])
        outcome: T = await self._outcome(job)
        return outcome

    async def search(self, work: Callable[[SqliteReading], T]) -> T:
        """Runs a search; the searches of one request run one after another in one thread."""
        return await self._with_others(self._large, work)

    async def read_batched(self, work: Callable[[SqliteReading], T]) -> T:
        """Runs a small read together with all others of this iteration of the event loop, in order, within one snapshot."""
        return await self._with_others(self._small, work)

    def run_in_background(self, work: Callable[[SqliteReading], object]) -> None:
        """Runs `work` later, without a result; its exceptions are dropped. May be called from any thread."""
        with self._lock:
            if not self._closed:
                self._small.put(work)

    def stop(self) -> None:
        """Stops the reads that run and refuses those that wait with `StoreUnavailable`."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._small.put(None)
                    self._large.put(None)

    def join(self) -> None:
        """Waits until the threads have ended; call `stop` before. Blocks."""
        for thread in self._threads:
            thread.join()

    async def _with_others(self, lane: _Queue, work: Callable[[SqliteReading], T]) -> T:
        job = Job(work)
        key = job.loop, lane
        together = self._together.get(key)
        if together is None:
            together = self._together[key] = []
            job.loop.call_soon(self._send, key)
        together.append(job)
        outcome: T = await self._outcome(job)
        return outcome

    async def _outcome(self, job: Job) -> Any:
        try:
            return await job.result
        except asyncio.CancelledError:
            job.cancelled = True
            raise

    def _send(self, key: tuple[asyncio.AbstractEventLoop, _Queue]) -> None:
        jobs = self._together.pop(key)
        try:
            self._put(key[1], jobs)
        except StoreUnavailable as error:
            for job in jobs:
                job.error = error
                job.settle()

    def _put(self, lane: _Queue, jobs: list[Job]) -> None:
        with self._lock:
            if self._closed:
                raise self._gone()
            lane.put(jobs)

    def _gone(self) -> StoreUnavailable:
        return StoreUnavailable(f"store {self._name!r} is closed")

    def _serve(self, connection: apsw.Connection, lane: _Queue) -> None:
        reading = SqliteReading(connection)
        while (item := lane.get()) is not None:
            if isinstance(item, list):
                self._work(reading, item)
            else:
                with suppress(Exception), reading.snapshot():
                    reading.do(item, lambda: self._closed)
        connection.close()

    def _work(self, reading: SqliteReading, jobs: list[Job]) -> None:
        try:
            with reading.snapshot():
                for job in jobs:
                    if not job.cancelled:
                        self._settle(reading, job)
        except BaseException as error:  # the thread must survive, and every caller gets the error
            for job in jobs:
                job.error = job.error or (self._gone() if self._closed else to_store_error(error, self._name))
        deliver(jobs)

    def _settle(self, reading: SqliteReading, job: Job) -> None:
        try:
            if self._closed:
                raise self._gone()
            job.outcome = reading.do(job.work, lambda: job.cancelled or self._closed)
        except BaseException as error:
            job.error = self._gone() if self._closed else to_store_error(error, self._name)


def _never() -> bool:
    return False
