"""Erasure: the thread that sees to it that what was forgotten is in no file, whoever forgot it.

A commit that takes content away says so in the file, in the same transaction (`counters.erased`); scrubbing ends with a commit
that says so as well (`counters.scrubbed`). As long as the first is ahead of the second there is something to be done: after a
commit of this process at once, after an opening at once (a process may have been killed), and after another process's commit
where that process doesn't get on with it. Where something stands in the way it is tried again, until it is done.

The same look at the file tells of what other processes took away, so that nothing of it is remembered here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

import apsw

from germane.stores.sqlite.database import Database
from germane.stores.sqlite.jobs import Job, deliver
from germane.stores.sqlite.reserve import Reserve
from germane.stores.sqlite.rows import only
from germane.stores.sqlite.scrub import Scrub

__all__ = ["Erasure", "ErasureState", "erasure_state"]

_LOOK = 0.5
"""Seconds between two looks at what other processes did."""
_OTHERS = 4
"""Looks at the same unfinished work of another process before it is taken over."""
_TRIES = 6
"""Times that it is tried before the caller is told what it waits for: about a second."""
_SOON, _LATE = 0.01, 1.0
"""Seconds until it is tried again, at first and at last; each time twice as many."""
_DOUBLED = 7
"""Times until that is the longest."""
_HARDLY, _OFTEN = 5, 8
"""Milliseconds that readers are waited for from then on, as writers wait as long; every so many times it is longer."""
_ROOM = 16
"""Looks between two tries to have the room back that is kept for forgetting."""
_OTHER = "another process that is scrubbing"


class ErasureState(NamedTuple):
    """As revisions: the last commit that took content away, how far scrubbing has come, since when they differ (microseconds),
    the last commit that took a whole partition, and the last one that took or replaced a directive."""

    erased: int
    scrubbed: int
    since: int | None
    vanished: int
    replaced: int

    @property
    def due(self) -> bool:
        return self.erased > self.scrubbed


def erasure_state(connection: apsw.Connection) -> ErasureState:
    return ErasureState(*only(connection, "SELECT erased, scrubbed, erased_at, vanished, replaced FROM counters"))


class Erasure:
    """`told` is called in this thread, with a connection to read from, within a second after `ErasureState.replaced` has risen,
    and not oftener than every half. Where the store can only be read (`writable` false) nothing is scrubbed."""

    def __init__(self, database: Database, listener: Callable[[apsw.Connection], None], *, writable: bool) -> None:
        self._database, self._listener, self._writable = database, listener, writable
        self._guard = database.connect(reading=True)
        self._seen = erasure_state(self._guard)
        self._connection: apsw.Connection | None = None
        self._lock, self._wake = threading.Lock(), threading.Event()
        self.gate = threading.Lock()
        """Held by whoever of this process writes, one after another."""
        self._settling: list[tuple[int, list[Job]]] = []
        self._asking: list[Job] = []
        self._mine = self._seen.due and writable
        self._seen_replaced, self._called_at = self._seen.replaced, 0.0
        self._closing = self._closed = False
        self._tries = self._looks = 0
        self.reserve = Reserve(database.path if writable else None)
        self.reserve.keep()
        self.waiting_for = ""
        """What the last try was held up by, in words; '' when it came to its end."""
        self.begun = threading.Event()
        """Set once what was found at opening has been done or tried."""
        if not self._mine:
            self.begun.set()
        self._thread = threading.Thread(target=self._serve, name="germane-erasure", daemon=True)
        self._thread.start()

    def settle(self, jobs: list[Job], revision: int) -> None:
        """Deliver these, whose commit took content away, once nothing of it is left in any file; after about a second at the
        latest where something stands in the way."""
        with self._lock:
            self._settling.append((revision, jobs))
            self._mine, self._tries = True, 0
        self._wake.set()

    async def scrub(self) -> str:
        """Try at once, where anything that was forgotten before is left. Returns what that waits for, in words; '' when nothing
        is left. Raises nothing."""
        job = Job(lambda _: None)
        with self._lock:
            if self._closed:
                return "the store to be opened again"
            self._asking.append(job)
        self._wake.set()
        waiting: str = await job.future
        return waiting

    def join(self) -> None:
        """Try a last time, and end. What is left to be done then is found at the next opening."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        for connection in (self._connection, self._guard):
            if connection is not None:
                connection.close()

    def _serve(self) -> None:
        pause: float | None = 0.0 if self._mine else _LOOK
        closing = False
        while not closing:
            self._wake.wait(pause if self._database.path is not None or self._mine else None)
            self._wake.clear()
            closing = self._closing
            pause = self._turn(closing)
            self.begun.set()

    def _turn(self, closing: bool) -> float:
        """What there is to be done now. Returns the seconds until the next turn."""
        with self._lock:
            asking, self._asking = self._asking, []
            self._closed = closing
        seen = self._look()
        asked, due = seen.erased, seen.due and self._writable and (self._mine or bool(asking))
        if due:
            self.waiting_for = self._scrubbed()
            seen = self._look()
        with self._lock:
            self._tries = self._tries + 1 if self.waiting_for else 0
            over = closing or self._tries >= _TRIES or not self._writable
            ready = [job for revision, jobs in self._settling if over or revision <= seen.scrubbed for job in jobs]
            self._settling = [] if over else [pair for pair in self._settling if pair[0] > seen.scrubbed]
            self._mine = (self._mine and seen.due) or bool(self._settling)  # a commit may have come since the look
        for job in asking:
            job.outcome = "" if asked <= seen.scrubbed else self.waiting_for or _OTHER
        deliver([*ready, *asking])
        if self.waiting_for:
            return min(_LATE, _SOON * (1 << min(self._tries, _DOUBLED)))
        return 0 if self._mine else _LOOK

    def _look(self) -> ErasureState:
        """The mark as it is now. Takes over what another process doesn't get on with."""
        try:
            seen, before = erasure_state(self._guard), self._seen
        except apsw.Error:
            return self._seen
        self._seen = seen
        if seen.replaced > self._seen_replaced and monotonic() - self._called_at >= _LOOK:
            self._seen_replaced, self._called_at = seen.replaced, monotonic()
            with suppress(Exception):  # this thread lives on whatever they do with it
                self._listener(self._guard)
        if not seen.due:
            self.waiting_for = ""
        self._looks = self._looks + 1 if seen.scrubbed == before.scrubbed else 0
        if seen.due and self._writable and self._looks >= _OTHERS:
            self._mine = True
        if self._looks % _ROOM == 0:
            self.reserve.keep()
        return seen

    def _scrubbed(self) -> str:
        try:
            if self._connection is None:
                self._connection = self._database.connect()
        except apsw.Error:
            return "the file to be opened"
        scrub = Scrub(self._database, self._connection, self._guard, self.gate)
        waiting = scrub.run() if self._tries < _TRIES or not self._tries % _OFTEN else scrub.run(_HARDLY)
        if not waiting:
            self.reserve.keep()
        return waiting
