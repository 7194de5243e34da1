"""Writer: the one thread that writes, with group commit.

The writer takes all jobs that wait, runs them in one transaction, and answers them after one COMMIT, so that fifty callers
share one fsync. A job that only appends events adds them to a batch; any other one runs in a savepoint. A job that fails leaves
nothing behind; a batch or a COMMIT that fails, fails all jobs. Jobs that removed content are answered by `erasure.py`, when
nothing of it is left in any file. On a full disk every job fails except one that only forgets: it is repeated alone, in the
disk space that is reserved for it (`Reserve` in `database.py`).
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
from germane.stores.sql.transaction import Transaction
from germane.stores.sqlite.database import SqliteDatabase, to_store_error
from germane.stores.sqlite.erasure import Erasure, KnownRevision
from germane.stores.sqlite.jobs import Job, deliver

T = TypeVar("T")
_MAX_JOBS = 500
"""Jobs in one commit at most."""


class SqliteWriter:
    """`connection` is used by the writer's thread alone; `begin` makes the transaction of one commit. Each commit is told to
    `known` before its callers are answered."""

    def __init__(
        self,
        connection: apsw.Connection,
        begin: Callable[[apsw.Connection], Transaction],
        database: SqliteDatabase,
        erasure: Erasure,
        known: KnownRevision,
    ) -> None:
        self._connection, self._known = connection, known
        self._begin = begin
        self._database, self._name = database, database.name
        self._erasure = erasure
        self._pages = 0
        """Pages that the file has room for."""
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="germane-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Transaction], T]) -> T:
        """Runs `work` in the next commit and returns its result once that is durable. Work that is cancelled before its turn is
        never run. Raises what `work` raises, and `StoreUnavailable` after `stop`."""
        job = Job(work)
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"store {self._name!r} is closed")
            self._queue.put(job)
        try:
            outcome: T = await job.result
            return outcome
        except asyncio.CancelledError:
            job.cancelled = True
            raise

    def stop(self) -> None:
        """Lets the thread complete the jobs that wait, and then end. Idempotent."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)

    def join(self) -> None:
        """Waits until the thread has ended; call `stop` before. Blocks."""
        self._thread.join()

    def close(self) -> None:
        """Closes the connection. It must be the store's last one to close, so that SQLite removes the log."""
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
        full = list[Job]()
        try:
            with self._erasure.gate:
                revision, erasing = self._together(jobs, full)
        except BaseException as error:  # the thread must survive, and every caller gets the error
            self._rollback()
            failed = [job for job in jobs if job.error is None]
            for job in failed:
                job.error = to_store_error(error, self._name)
            revision, erasing, full = 0, [], [*full, *failed] if isinstance(error, apsw.FullError) else []
        if erasing:
            self._erasure.deliver_when_scrubbed(erasing, revision)
        settled = {*erasing, *(job for job in full if self._insisted(job))}
        deliver([job for job in jobs if job not in settled])

    def _together(self, jobs: list[Job], full: list[Job]) -> tuple[int, list[Job]]:
        """Runs all jobs in one transaction, and adds to `full` those that failed for lack of disk space; the others' commit may
        fail after them. Returns its revision, and the jobs that removed content."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        transaction = self._begin(connection)
        erasing = list[Job]()
        for job in jobs:
            before = transaction.erased
            if self._attempt(job, transaction):
                full.append(job)
            elif transaction.erased > before:
                erasing.append(job)
        self._end(transaction)
        return transaction.revision, erasing

    def _attempt(self, job: Job, transaction: Transaction) -> bool:
        """Runs one job. Returns whether it failed for lack of disk space."""
        savepoint = transaction.savepoint()
        try:
            if not getattr(job.work, "protects", False):
                transaction.protect()
            job.outcome = job.work(transaction)
            transaction.release()
        except BaseException as error:
            if transaction.broken or not self._connection.in_transaction:  # a full disk may end the whole transaction
                raise
            transaction.roll_back_to(savepoint)
            job.error = to_store_error(error, self._name)
            return isinstance(error, apsw.FullError)
        return False

    def _insisted(self, job: Job) -> bool:
        """Repeats a job that failed on a full disk, provided that it only forgets: first with the space that a checkpoint
        frees, then with the reserve. Returns whether the job succeeded and removed content."""
        for kept_back in (False, True):
            if not _forgets(job) or (kept_back and not self._erasure.reserve.release()):
                break
            with suppress(apsw.Error):  # a failed checkpoint leaves the log as it is
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            try:
                with self._erasure.gate:
                    transaction = self._alone(job)
            except BaseException as error:
                self._rollback()
                job.error = to_store_error(error, self._name)
                if isinstance(error, apsw.FullError):
                    continue
                break
            job.error = None
            if transaction.erased:
                self._erasure.deliver_when_scrubbed([job], transaction.revision)
            return bool(transaction.erased)
        return False

    def _alone(self, job: Job) -> Transaction:
        self._connection.execute("BEGIN IMMEDIATE")
        transaction = self._begin(self._connection)
        job.outcome = job.work(transaction)
        transaction.release()
        if not _forgets(job):
            raise apsw.FullError
        self._end(transaction)
        return transaction

    def _end(self, transaction: Transaction) -> None:
        revision = transaction.finish()
        self._pages = self._database.room(self._connection, self._pages)
        self._connection.execute("COMMIT")
        self._known.saw(revision)

    def _rollback(self) -> None:
        self._pages = 0  # the file may be truncated to its former size
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error:
            pass  # already rolled back by SQLite


def _forgets(job: Job) -> bool:
    """Whether the job only forgets, as far as is known before its plan has run (see `PlanRun`)."""
    return bool(getattr(job.work, "forgets", False))
