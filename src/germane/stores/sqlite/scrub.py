"""Scrub: make sure that what was forgotten is in no file.

SQLite's `secure_delete` overwrites a deleted row where it lies, but not the copies that were left in the unallocated space of
pages when their B-tree was balanced before. So the log is emptied into the file, and that space is overwritten in place, in
every page where something stands in it. Nothing reads those bytes: readers aren't disturbed and a crash midway does no harm.

Writers go on meanwhile. A *guard*, a reading transaction that began when the log was empty, keeps SQLite from writing anything
but the log: as long as it lasts the file changes only by what is overwritten here. What others write in the meantime, perhaps
from pages that they had in memory, is in the log; those pages come next, until they are so few that they can be done in one
short transaction. Its commit says how far scrubbing has come, and makes every other connection drop the pages it had in memory.

Whoever scrubs may be killed at any point, and several processes may do it at once: the mark that says what is still to be done
goes only with that last commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import groupby

import apsw

from germane.stores.sqlite.database import BUSY, Database
from germane.stores.sqlite.gaps import CLASSED, gaps
from germane.stores.sqlite.raw_file import RawFile, log_is_empty, pages_in_log
from germane.stores.sqlite.rows import first, only, rows

__all__ = ["Scrub"]

_CHUNK = 512
"""Pages that are read at once."""
_FEW = 256
"""Pages that are overwritten while nobody else can write; more are done beside the writers."""
_ROUNDS = 8
"""Times that pages written meanwhile are gone after before all is done at one go."""
_DONE = (
    "UPDATE counters SET erasures = erasures + 1, scrubbed = max(scrubbed, ?1),"
    " erased_at = CASE WHEN erased > max(scrubbed, ?1) THEN erased_at END"
)

_READER = "a reader that holds an older snapshot of the file (a backup that is running, or another process)"
_WRITER = "another process that is writing"
_ROOM = "room on the disk, which is full"
_DISK = "the disk, which reported an error"


class _Held(Exception):
    """Something stands in the way. The text says what."""


class Scrub:
    """One thread's way of scrubbing `database`. `connection` writes, `guard` only reads; both are used for nothing else while
    it runs. `gate` is held for the moments in which it is better that this process writes nothing."""

    def __init__(
        self, database: Database, connection: apsw.Connection, guard: apsw.Connection, gate: AbstractContextManager[object]
    ) -> None:
        self._database, self._connection, self._guard, self._gate = database, connection, guard, gate
        self._version = self._patience = 0

    def run(self, patience: int = 100) -> str:
        """Scrub all that was forgotten before this call. Returns what it waits for, in words; '' when it is done. Raises
        nothing of SQLite's. Again is fine, whatever came of it before.

        `patience` is how many milliseconds readers are waited for that are about to end; writers wait as long."""
        self._patience = patience
        try:
            (upto,) = only(self._connection, "SELECT erased FROM counters")
            if self._database.path is None:
                self._finish(upto)
            else:
                self._all(upto)
        except _Held as held:
            return str(held)
        except apsw.FullError:
            return _ROOM
        except apsw.BusyError:
            return _WRITER
        except (apsw.Error, OSError):
            return _DISK
        except Exception as error:  # the thread lives on, and tries again
            return f"a fault of its own to pass ({type(error).__name__})"
        finally:
            self._let_go()
        return ""

    def _all(self, upto: int) -> None:
        pages: frozenset[int] | None = None  # all of them
        guarded = False
        for _ in range(_ROUNDS if self._logging() else 0):
            if not guarded:
                self._copy_log()
            with self._gate:
                if guarded and (pages := self._written_meanwhile(upto)) is None:
                    return
                self._empty_log()
                if pages is not None and len(pages) <= _FEW and self._exclusively(pages, upto):
                    return
                guarded = self._guarded(pages is not None)
            if guarded:
                self._overwrite(pages)
            else:
                pages = None
        self._let_go()
        with self._gate:
            if self._logging():
                self._empty_log()
            if not self._exclusively(None, upto):
                raise _Held(_WRITER)

    def _logging(self) -> bool:
        """Whether there is a log. On a file system without shared memory there is none: who writes has the file to himself."""
        return bool(self._connection.pragma("journal_mode") == "wal")

    def _copy_log(self) -> None:
        """Most of what is in the log is in the file now: so there is less to do while others have to wait."""
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
            raise _Held(_WRITER if self._somebody_writes() else _READER) from None
        finally:
            connection.set_busy_timeout(BUSY)

    def _somebody_writes(self) -> bool:
        try:
            self._connection.execute("BEGIN IMMEDIATE; ROLLBACK")
        except apsw.BusyError:
            return True
        return False

    def _guarded(self, continued: bool) -> bool:
        """Begin to guard the file. False where somebody wrote before the guard stood; with `continued` also where somebody did
        since the pages written meanwhile were last looked up."""
        self._guard.execute("BEGIN")
        first(self._guard, "SELECT erased FROM counters")
        if log_is_empty(self._connection) and not (continued and self._changed()):
            return True
        self._let_go()
        return False

    def _written_meanwhile(self, upto: int) -> frozenset[int] | None:
        """The pages written since the guard stood, which is over now; None where there are none, and the scrubbing done."""
        with _Writing(self._connection):
            pages = pages_in_log(self._connection)
            self._guard.execute("COMMIT")
            self._version = self._data_version()
            if not pages:
                self._connection.execute(_DONE, (upto,))
        return pages or None

    def _exclusively(self, pages: frozenset[int] | None, upto: int) -> bool:
        """Overwrite the gaps of these pages (None: all) while nobody can write, and be done. False where somebody wrote before
        that, so that these may not be all."""
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
        trees = _trees(connection) if count >= CLASSED else None
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
        """Changes with every commit of another connection."""
        return int(only(self._connection, "PRAGMA data_version")[0])

    def _let_go(self) -> None:
        if self._guard.in_transaction:
            self._guard.execute("ROLLBACK")


class _Writing:
    """A transaction that begins with nothing in memory of what the pages were before."""

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
    """Neighbouring pages together: the first of them and how many."""
    for _, run in groupby(enumerate(pages), lambda pair: (pair[1] - pair[0], pair[0] // _CHUNK)):
        neighbours = [page for _, page in run]
        yield neighbours[0], len(neighbours)


def _trees(connection: apsw.Connection) -> frozenset[int]:
    return frozenset(page for (page,) in rows(connection, "SELECT pageno FROM dbstat WHERE pagetype <> 'overflow'"))
