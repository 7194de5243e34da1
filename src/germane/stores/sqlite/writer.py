"""Writer: the one thread that writes, with group commit.

It takes everything that waits, does each in a savepoint of one transaction, and answers all of them after one COMMIT, so
fifty callers share one fsync. What fails rolls back to its own savepoint; a failing COMMIT fails all. Who took content away is
answered by `erasure.py`, once nothing of it is left in any file. A full disk fails everything but a forgetting, which is done
again by itself with the room that is kept back for it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import apsw

from germane.errors import StoreUnavailable
from germane.stores.sqlite.database import Database
from germane.stores.sqlite.erasure import Erasure
from germane.stores.sqlite.failures import read_as
from germane.stores.sqlite.jobs import Job, deliver
from germane.stores.sqlite.transaction import Transaction

__all__ = ["Writer"]

T = TypeVar("T")
_MAX_JOBS = 500
"""Jobs in one commit at most."""


class Writer:
    def __init__(
        self,
        connection: apsw.Connection,
        begin: Callable[[apsw.Connection], Transaction],
        database: Database,
        erasure: Erasure,
    ) -> None:
        self._connection = connection
        self._begin = begin
        self._database, self._name = database, database.name
        self._erasure = erasure
        self._pages = 0
        """Of the file, that there is room for."""
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="germane-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Transaction], T]) -> T:
        """What `work` returns, once it is durable. Cancelled before its turn, it is never done."""
        job = Job(work)
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"store {self._name!r} is closed")
            self._queue.put(job)
        try:
            outcome: T = await job.future
            return outcome
        except asyncio.CancelledError:
            job.cancelled = True
            raise

    def stop(self) -> None:
        """Finish what waits, then end. Call `join` from where blocking is allowed."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def close(self) -> None:
        """Close the connection: the last one to do so, that the log is removed."""
        self._connection.close()

    def _serve(self) -> None:
        going = True
        while going:
            taken = [self._queue.get()]
            while len(taken) < _MAX_JOBS and not self._queue.empty():
                taken.append(self._queue.get())
            going = None not in taken
            jobs = [job for job in taken if job is not None and not job.cancelled]
            if jobs:
                self._commit(jobs)

    def _commit(self, jobs: list[Job]) -> None:
        try:
            with self._erasure.gate:
                revision, erasing, full = self._together(jobs)
        except BaseException as error:  # the thread must live on, and everybody be told
            self._rollback()
            failed = [job for job in jobs if job.error is None]
            for job in failed:
                job.error = read_as(error, self._name)
            revision, erasing, full = 0, [], failed if isinstance(error, apsw.FullError) else []
        if erasing:
            self._erasure.settle(erasing, revision)
        settled = {*erasing, *(job for job in full if self._insisted(job))}
        deliver([job for job in jobs if job not in settled])

    def _together(self, jobs: list[Job]) -> tuple[int, list[Job], list[Job]]:
        """All of them in one transaction: its revision, those that took content away, and those the disk had no room for."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        transaction = self._begin(connection)
        erasing, full = list[Job](), list[Job]()
        for job in jobs:
            before = transaction.erased
            if self._attempt(job, transaction):
                full.append(job)
            elif transaction.erased > before:
                erasing.append(job)
        self._end(transaction)
        return transaction.revision, erasing, full

    def _attempt(self, job: Job, transaction: Transaction) -> bool:
        """Whether the disk had no room for it."""
        connection = self._connection
        connection.execute("SAVEPOINT one")
        savepoint = transaction.savepoint()
        try:
            job.outcome = job.work(transaction)
            connection.execute("RELEASE one")
        except BaseException as error:
            if not connection.in_transaction:  # a full disk may end the whole transaction
                raise
            connection.execute("ROLLBACK TO one; RELEASE one")
            transaction.roll_back_to(savepoint)
            job.error = read_as(error, self._name)
            return isinstance(error, apsw.FullError)
        return False

    def _insisted(self, job: Job) -> bool:
        """Whether it was done in spite of a full disk, and took content away. Only what does nothing but forget is done again:
        with the room that emptying the log makes, then with the room that is kept back."""
        for kept_back in (False, True):
            if not _forgets(job) or (kept_back and not self._erasure.reserve.release()):
                break
            with suppress(apsw.Error):  # else what is in the log stays there for now
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            try:
                with self._erasure.gate:
                    transaction = self._alone(job)
            except BaseException as error:
                self._rollback()
                job.error = read_as(error, self._name)
                if isinstance(error, apsw.FullError):
                    continue
                break
            job.error = None
            if transaction.erased:
                self._erasure.settle([job], transaction.revision)
            return bool(transaction.erased)
        return False

    def _alone(self, job: Job) -> Transaction:
        self._connection.execute("BEGIN IMMEDIATE")
        transaction = self._begin(self._connection)
        job.outcome = job.work(transaction)
        if not _forgets(job):
            raise apsw.FullError
        self._end(transaction)
        return transaction

    def _end(self, transaction: Transaction) -> None:
        transaction.finish()
        self._pages = self._database.room(self._connection, self._pages)
        self._connection.execute("COMMIT")

    def _rollback(self) -> None:
        self._pages = 0  # what the file was made longer for isn't written, and may go again
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error:
            pass  # already rolled back by SQLite


def _forgets(job: Job) -> bool:
    """Whether its work does nothing but forget, as far as is known yet (see `journal.py`)."""
    return bool(getattr(job.work, "forgets", False))
