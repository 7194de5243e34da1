"""Scrub: overwrites what was forgotten, so that no file of the store holds it.

SQLite's `secure_delete` overwrites a deleted row, but not the copies of it that earlier balancing of a B-tree left in the
unallocated space of pages. So the log is emptied into the file, and that space is overwritten in place in every page where it
isn't empty. Nothing reads these bytes: readers aren't disturbed, and a crash midway does no harm.

Writers continue meanwhile. A *guard*, a read transaction that began when the log was empty, keeps SQLite from checkpointing:
while it lasts, only the scrub changes the file. Pages that others write meanwhile, perhaps from their caches, are in the log.
They are scrubbed in the next round, until they are so few that one short transaction can scrub them. Its commit records how far
the scrub came, and makes every other connection drop its cached pages.

A scrub may be killed at any point, and several processes may scrub at once: only that last commit clears the record that a
scrub is due.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import groupby

import apsw

from germane.stores.sql.statements import first, only, rows
from germane.stores.sqlite.database import BUSY, SqliteDatabase
from germane.stores.sqlite.raw_file import CLASSIFIABLE_PAGES, RawFile, gaps, log_is_empty, pages_in_log

_CHUNK = 512
"""Pages read at once."""
_MAX_EXCLUSIVE_PAGES = 256
"""Pages that may be scrubbed while other writers wait; more pages take another round beside the writers."""
_MAX_ROUNDS = 8
"""Rounds beside the writers, after which the whole file is scrubbed while they wait."""
_DONE = (
    "UPDATE counters SET erasures = erasures + 1, scrubbed = max(scrubbed, ?1),"
    " erased_at = CASE WHEN erased > max(scrubbed, ?1) THEN erased_at END"
)

_WAIT_FOR_READER = "a reader that holds an older snapshot of the file (a backup that is running, or another process)"
_WAIT_FOR_WRITER = "another process that is writing"
_WAIT_FOR_ROOM = "room on the disk, which is full"
_WAIT_FOR_DISK = "the disk, which reported an error"


class _Delayed(Exception):
    """The scrub can't complete now. The message says what it waits for."""


class Scrub:
    """One scrub of `database`. `connection` writes and `guard` only reads; nothing else may use them meanwhile. `gate` is held
    in the moments in which this process should write nothing else."""

    def __init__(
        self,
        database: SqliteDatabase,
        connection: apsw.Connection,
        guard: apsw.Connection,
        gate: AbstractContextManager[object],
    ) -> None:
        self._database, self._connection, self._guard, self._gate = database, connection, guard, gate
        self._version = self._patience = 0

    def run(self, patience: int = 100) -> str:
        """Scrubs all that was forgotten before this call. Returns '' when it is done, else what it waits for, in words. Raises
        no error of SQLite. Idempotent, and may be repeated after any result.

        `patience` is how many milliseconds it waits for readers with an old snapshot; writers wait as long."""
        self._patience = patience
        try:
            (upto,) = only(self._connection, "SELECT erased FROM counters")
            if self._database.path is None:
                self._finish(upto)
            else:
                self._all(upto)
        except _Delayed as delayed:
            return str(delayed)
        except apsw.FullError:
            return _WAIT_FOR_ROOM
        except apsw.BusyError:
            return _WAIT_FOR_WRITER
        except (apsw.Error, OSError):
            return _WAIT_FOR_DISK
        except Exception as error:  # the thread must survive, and retries
            return f"a fault of its own to pass ({type(error).__name__})"
        finally:
            self._end_guard()
        return ""

    def _all(self, upto: int) -> None:
        pages: frozenset[int] | None = None  # all of them
        guarded = False
        for _ in range(_MAX_ROUNDS if self._logging() else 0):
            if not guarded:
                self._copy_log()
            with self._gate:
                if guarded and (pages := self._written_meanwhile(upto)) is None:
                    return
                self._empty_log()
                if pages is not None and len(pages) <= _MAX_EXCLUSIVE_PAGES and self._exclusively(pages, upto):
                    return
                guarded = self._guarded(pages is not None)
            if guarded:
                self._overwrite(pages)
            else:
                pages = None
        self._end_guard()
        with self._gate:
            if self._logging():
                self._empty_log()
            if not self._exclusively(None, upto):
                raise _Delayed(_WAIT_FOR_WRITER)

    def _logging(self) -> bool:
        """Whether the file has a write-ahead log. On a file system without shared memory it has none, and a writer has the file
        to itself."""
        return bool(self._connection.pragma("journal_mode") == "wal")

    def _copy_log(self) -> None:
        """Copies most of the log into the file, which shortens the step during which others wait."""
        with suppress(apsw.BusyError):
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _empty_log(self) -> None:
        """Everything committed is in the file now, and nothing in the log. Waits for readers while holding writers up, but not
        long: those that come meanwhile read the file alone and are in nobody's way."""
        connection = self._connection
        try:
            connection.set_busy_timeout(self._patience)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            raise _Delayed(_WAIT_FOR_WRITER if self._somebody_writes() else _WAIT_FOR_READER) from None
        finally:
            connection.set_busy_timeout(BUSY)

    def _somebody_writes(self) -> bool:
        try:
            self._connection.execute("BEGIN IMMEDIATE; ROLLBACK")
        except apsw.BusyError:
            return True
        return False

    def _guarded(self, continued: bool) -> bool:
        """Begins the guard. Returns False where somebody wrote before it began or, with `continued`, since the pages in the log
        were last read."""
        self._guard.execute("BEGIN")
        first(self._guard, "SELECT erased FROM counters")
        if log_is_empty(self._connection) and not (continued and self._changed()):
            return True
        self._end_guard()
        return False

    def _written_meanwhile(self, upto: int) -> frozenset[int] | None:
        """Ends the guard and returns the pages that were written since it began. Where there are none, it completes the scrub
        and returns None."""
        with _Writing(self._connection):
            pages = pages_in_log(self._connection)
            self._guard.execute("COMMIT")
            self._version = self._data_version()
            if not pages:
                self._connection.execute(_DONE, (upto,))
        return pages or None

    def _exclusively(self, pages: frozenset[int] | None, upto: int) -> bool:
        """Overwrites the gaps of these pages (None: of all) while nobody can write, and completes the scrub. Returns False
        where somebody wrote before, so that other pages may have gaps too."""
        with _Writing(self._connection):
            if (self._logging() and not log_is_empty(self._connection)) or (pages is not None and self._changed()):
                return False
            self._overwrite(pages)
            self._connection.execute(_DONE, (upto,))
        return True

    def _finish(self, upto: int) -> None:
        with _Writing(self._connection):
            self._connection.execute(_DONE, (upto,))

    def _overwrite(self, pages: frozenset[int] | None) -> None:
        connection = self._connection
        count, size = connection.pragma("page_count"), connection.pragma("page_size")
        trees = _trees(connection) if count >= CLASSIFIABLE_PAGES else None
        wanted = range(1, count + 1) if pages is None else sorted(page for page in pages if page <= count)
        file, written = RawFile(connection), False
        for start, length in _runs(wanted):
            content = file.read(length * size, (start - 1) * size)
            for page, begins, ends in gaps(content, size, start):
                if trees is None or page in trees:
                    file.write(bytes(ends - begins), (page - 1) * size + begins)
                    written = True
        if written:
            file.sync()

    def _changed(self) -> bool:
        return self._data_version() != self._version

    def _data_version(self) -> int:
        """A number that changes with every commit of another connection."""
        return int(only(self._connection, "PRAGMA data_version")[0])

    def _end_guard(self) -> None:
        if self._guard.in_transaction:
            self._guard.execute("ROLLBACK")


class _Writing:
    """A write transaction that begins without cached pages, which may be older than the file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.release_memory()
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        connection = self._connection
        try:
            if kind is None:
                connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _runs(pages: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Groups consecutive pages: yields the first page of each run and the run's length."""
    for _, run in groupby(enumerate(pages), lambda pair: (pair[1] - pair[0], pair[0] // _CHUNK)):
        neighbours = [page for _, page in run]
        yield neighbours[0], len(neighbours)


def _trees(connection: apsw.Connection) -> frozenset[int]:
    """Returns the numbers of all B-tree pages."""
    return frozenset(page for (page,) in rows(connection, "SELECT pageno FROM dbstat WHERE pagetype <> 'overflow'"))
