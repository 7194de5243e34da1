"""Erasure: the thread that scrubs the files after something was forgotten, by this process or another one.

A commit that removes content records its revision in the file, in the same transaction (`counters.erased`); a scrub ends with a
commit that records how far it came (`counters.scrubbed`). While the first is larger than the second, a scrub is due: at once
after a commit of this process and after opening (a process may have been killed), and after a commit of another process where
that process makes no progress. A scrub that is delayed is retried until it succeeds.

The thread polls the file for this. So it also learns what other processes removed or replaced, and cached copies can be dropped
here; and it learns the file's latest revision, which it tells to `KnownRevision`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

import apsw

from germane.stores.sql.statements import only
from germane.stores.sqlite.database import Reserve, SqliteDatabase
from germane.stores.sqlite.jobs import Job, deliver
from germane.stores.sqlite.scrub import Scrub

_POLL = 0.5
"""Seconds between two polls of the file."""
_TAKEOVER_POLLS = 4
"""Polls without progress after which another process's scrub is taken over."""
_TRIES = 6
"""Attempts after which the callers get their answer although the scrub is delayed: about a second."""
_FIRST_RETRY, _LAST_RETRY = 0.01, 1.0
"""Seconds before the first and before later retries; each pause is twice the one before, up to the second value."""
_MAX_DOUBLINGS = 7
"""Doublings after which the pause stays the same."""
_SHORT_PATIENCE, _LONG_EVERY = 5, 8
"""Milliseconds that later attempts wait for readers (short, since writers wait meanwhile), and every how many attempts the
usual time is waited."""
_RESERVE_POLLS = 16
"""Polls between two attempts to restore the disk reserve."""
_OTHER = "another process that is scrubbing"


class ErasureState(NamedTuple):
    """The columns of the table `counters` that tell what was removed, and when."""

    erased: int
    """Revision of the last commit that removed content."""
    scrubbed: int
    """Revision up to which removed content has been scrubbed."""
    since: int | None
    """When a scrub became due, in microseconds since the epoch; None where none is due."""
    vanished: int
    """Revision of the last commit that removed a whole partition."""
    replaced: int
    """Revision of the last commit that removed or replaced a directive."""
    revision: int
    """Revision of the last commit that changed anything."""

    @property
    def due(self) -> bool:
        """Whether removed content hasn't been scrubbed yet."""
        return self.erased > self.scrubbed


def erasure_state(connection: apsw.Connection) -> ErasureState:
    return ErasureState(*only(connection, "SELECT erased, scrubbed, erased_at, vanished, replaced, revision FROM counters"))


class Erasure:
    """`listener` is called in this thread, with a connection to read from, within a second after `ErasureState.replaced` has
    risen, at most twice a second; `when_erased` after `ErasureState.erased` has risen. Each poll tells `known` a revision.
    Where the store isn't `writable`, nothing is scrubbed."""

    def __init__(
        self, database: SqliteDatabase, listener: Callable[[apsw.Connection], None], known: KnownRevision, *, writable: bool
    ) -> None:
        self._database, self._listener, self._known, self._writable = database, listener, known, writable
        self._guard = database.connect(reading=True)
        self._seen = erasure_state(self._guard)
        known.saw(self._seen.revision)
        self._connection: apsw.Connection | None = None
        self._lock, self._wake = threading.Lock(), threading.Event()
        self.gate = threading.Lock()
        """Held by each thread of this process while it writes."""
        self._waiting_for_scrub: list[tuple[int, list[Job]]] = []
        self._scrub_calls: list[Job] = []
        self._mine = self._seen.due and writable
        self._seen_replaced, self._called_at = self._seen.replaced, 0.0
        self.when_erased: Callable[[], None] | None = None
        self._closing = self._closed = False
        self._tries = self._polls = 0
        self.reserve = Reserve(database.path if writable else None)
        self.reserve.keep()
        self.waiting_for = ""
        """What delays the scrub, in words; '' where the last attempt succeeded."""
        self.begun = threading.Event()
        """Set after the first attempt at a scrub that was due at opening; at once where none was due."""
        if not self._mine:
            self.begun.set()
        self._thread = threading.Thread(target=self._serve, name="germane-erasure", daemon=True)
        self._thread.start()

    def deliver_when_scrubbed(self, jobs: list[Job], revision: int) -> None:
        """Delivers these jobs, whose commit `revision` removed content, when nothing of it is left in any file, or after about
        a second where the scrub is delayed."""
        with self._lock:
            self._waiting_for_scrub.append((revision, jobs))
            self._mine, self._tries = True, 0
        self._wake.set()

    async def scrub(self) -> str:
        """Attempts a scrub now, where one is due. Returns what delays it, in words; '' where nothing is left to scrub. Raises
        nothing."""
        job = Job(lambda _: None)
        with self._lock:
            if self._closed:
                return "the store to be opened again"
            self._scrub_calls.append(job)
        self._wake.set()
        waiting: str = await job.result
        return waiting

    def join(self) -> None:
        """Makes a last attempt and ends the thread. A scrub that is still due is done at the next opening. Blocks."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        for connection in (self._connection, self._guard):
            if connection is not None:
                connection.close()

    def _serve(self) -> None:
        pause: float | None = 0.0 if self._mine else _POLL
        closing = False
        while not closing:
            self._wake.wait(pause if self._database.path is not None or self._mine else None)
            self._wake.clear()
            closing = self._closing
            pause = self._turn(closing)
            self.begun.set()

    def _turn(self, closing: bool) -> float:
        """Polls, scrubs where that is due, and answers the callers. Returns the seconds until the next turn."""
        with self._lock:
            scrub_calls, self._scrub_calls = self._scrub_calls, []
            self._closed = closing
        seen = self._poll()
        asked, due = seen.erased, seen.due and self._writable and (self._mine or bool(scrub_calls))
        if due:
            self.waiting_for = self._scrubbed()
            seen = self._poll()
        with self._lock:
            self._tries = self._tries + 1 if self.waiting_for else 0
            over = closing or self._tries >= _TRIES or not self._writable
            ready = [job for revision, jobs in self._waiting_for_scrub if over or revision <= seen.scrubbed for job in jobs]
            self._waiting_for_scrub = [] if over else [pair for pair in self._waiting_for_scrub if pair[0] > seen.scrubbed]
            self._mine = (self._mine and seen.due) or bool(self._waiting_for_scrub)  # a commit may have come since the poll
        for job in scrub_calls:
            job.outcome = "" if asked <= seen.scrubbed else self.waiting_for or _OTHER
        deliver([*ready, *scrub_calls])
        if self.waiting_for:
            return min(_LAST_RETRY, _FIRST_RETRY * (1 << min(self._tries, _MAX_DOUBLINGS)))
        return 0 if self._mine else _POLL

    def _poll(self) -> ErasureState:
        """Reads the file's erasure state and calls the listener where it is due. Takes over another process's scrub that makes
        no progress."""
        try:
            seen, before = erasure_state(self._guard), self._seen
        except apsw.Error:
            return self._seen
        self._seen = seen
        self._known.saw(seen.revision)
        if seen.replaced > self._seen_replaced and monotonic() - self._called_at >= _POLL:
            self._called_at = monotonic()
            with suppress(Exception):  # this thread must survive the listener's errors; it calls the listener again then
                self._listener(self._guard)
                self._seen_replaced = seen.replaced
        if seen.erased > before.erased and self.when_erased is not None:
            with suppress(Exception):
                self.when_erased()
        if not seen.due:
            self.waiting_for = ""
        self._polls = self._polls + 1 if seen.scrubbed == before.scrubbed else 0
        if seen.due and self._writable and self._polls >= _TAKEOVER_POLLS:
            self._mine = True
        if self._polls % _RESERVE_POLLS == 0:
            self.reserve.keep()
        return seen

    def _scrubbed(self) -> str:
        try:
            if self._connection is None:
                self._connection = self._database.connect()
        except apsw.Error:
            return "the file to be opened"
        scrub = Scrub(self._database, self._connection, self._guard, self.gate)
        waiting = scrub.run() if self._tries < _TRIES or not self._tries % _LONG_EVERY else scrub.run(_SHORT_PATIENCE)
        if not waiting:
            self.reserve.keep()
        return waiting


# The writer, the readers' revisions and the polls tell it what they saw, so that a caller needs no read of the file.


class KnownRevision:
    """`latest` is never ahead of the file: whatever is read from now on shows that commit. It may be behind where another
    process writes. Any thread may tell what it has seen."""

    __slots__ = ("latest",)

    def __init__(self) -> None:
        self.latest = 0

    def saw(self, revision: int) -> None:
        """Takes note of a commit that is durable."""
        if revision > self.latest:  # of two threads the one behind may win, which is still not ahead
            self.latest = revision
