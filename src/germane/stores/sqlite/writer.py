"""Writer: the one thread that writes, with group commit.

It takes everything that waits, does each in a savepoint of one transaction, and answers all of them after one COMMIT, so
fifty callers share one fsync. What fails rolls back to its own savepoint; a failing COMMIT fails all. After a forgetting the
files are scrubbed before anybody is answered.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

import apsw

from germane.errors import StoreUnavailable
from germane.stores.sqlite.database import Database
from germane.stores.sqlite.delivery import Job, deliver
from germane.stores.sqlite.failures import read_as
from germane.stores.sqlite.scrub import scrub
from germane.stores.sqlite.transaction import Transaction

__all__ = ["Writer"]

T = TypeVar("T")
_MOST = 500
"""Jobs in one commit at most."""
_AGAIN = 0.25
"""Seconds after which scrubbing is tried again, where a reader stood in the way."""


class Writer:
    def __init__(
        self, connection: apsw.Connection, begin: Callable[[apsw.Connection], Transaction], database: Database
    ) -> None:
        self._connection = connection
        self._begin = begin
        self._database, self._name = database, database.name
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._unclean = False
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
        """Wait for the end, and close the connection: the last one to do so, that the log is removed."""
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        going = True
        while going:
            try:
                taken = [self._queue.get(timeout=_AGAIN if self._unclean else None)]
            except queue.Empty:
                self._clean()
                continue
            while len(taken) < _MOST and not self._queue.empty():
                taken.append(self._queue.get())
            going = None not in taken
            jobs = [job for job in taken if job is not None and not job.cancelled]
            if jobs:
                self._commit(jobs)
        if self._unclean:
            self._clean()

    def _commit(self, jobs: list[Job]) -> None:
        connection, erased = self._connection, False
        try:
            connection.execute("BEGIN IMMEDIATE")
            transaction = self._begin(connection)
            for job in jobs:
                self._attempt(job, transaction)
            transaction.finish()
            connection.execute("COMMIT")
            erased = transaction.erased
        except BaseException as error:  # the thread must live on, and everybody be told
            self._rollback()
            for job in jobs:
                job.error = job.error or read_as(error, self._name)
        if erased:
            self._clean()
        deliver(jobs)

    def _attempt(self, job: Job, transaction: Transaction) -> None:
        connection = self._connection
        connection.execute("SAVEPOINT one")
        mark = transaction.mark()
        try:
            job.outcome = job.work(transaction)
            connection.execute("RELEASE one")
        except BaseException as error:
            if not connection.in_transaction:  # a full disk may end the whole transaction
                raise
            connection.execute("ROLLBACK TO one; RELEASE one")
            transaction.undo(mark)
            job.error = read_as(error, self._name)

    def _rollback(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error:
            pass  # already rolled back by SQLite

    def _clean(self) -> None:
        self._unclean = not scrub(self._connection, self._database)
