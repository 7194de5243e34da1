"""Admission queue: how many assemblies work at once, and which waiting one is next (ENGINE-4).

Assembling needs the processor, and twenty assemblies that share one are all late. One after another, the first are in time. How
long the latest assemblies of each org took tells which call would be late: it is refused while refusing is cheap, or it skips
the search. A slot counts as occupied for a limited time: an assembly that takes longer waits for something else than the
processor.

Calls of one org are served in the order they came, and the orgs in turn (round robin): many calls of one org, or slow ones,
make that org wait and not its neighbours.
"""

from __future__ import annotations

import asyncio
import os
from threading import Lock

from germane.clock import Clock
from germane.pipeline.deadline import Deadline
from germane.pipeline.fair_queue import FairQueue
from germane.types.lru_cache import LruCache

__all__ = ["AdmissionQueue", "Overloaded", "Slot"]

_TWO_SLOTS_FROM = 3
"""Processors from which two assemblies work at once: beside the one that runs Python, searches keep a second processor busy."""
_COUNTS = 0.012
"""Seconds that a slot counts as occupied. A source that waits for a network doesn't keep others from the processor."""
_NEWEST = 0.2
"""Weight of the latest assembly in the average (exponential moving average)."""
_MAX_ORGS = 1024
"""Orgs whose average is kept. The least recently used is evicted."""


class Overloaded(Exception):
    """Too many assemblies wait before this one: it would be late."""


class Slot:
    """The right to work, until `end`. `skip_search`: so much time was spent waiting that a search would be late."""

    __slots__ = ("_began", "_counted", "_org", "_queue", "_timer", "skip_search")

    def __init__(self, queue: AdmissionQueue, org: str, began: float, *, skip_search: bool) -> None:
        self.skip_search = skip_search
        queue.working += 1
        self._queue, self._org, self._began, self._counted = queue, org, began, True
        self._timer = asyncio.get_running_loop().call_later(_COUNTS, self._lapse)

    def end(self, now: float) -> None:
        """Gives the slot back. The assembly calls it whatever happened."""
        self._timer.cancel()
        self._queue.working -= 1
        if not self.skip_search:
            self._queue.learn(self._org, now - self._began)
        self._lapse()

    def _lapse(self) -> None:
        if self._counted:
            self._counted = False
            self._queue.release()


class AdmissionQueue:
    """`slots` assemblies at once, by default as many as keep the machine busy. Callable from several event loops."""

    def __init__(self, slots: int | None = None) -> None:
        if slots is None:
            slots = 2 if (os.cpu_count() or 1) >= _TWO_SLOTS_FROM else 1
        self._free, self._slots = slots, slots
        self.working, self.shed = 0, 0
        """How many slots haven't ended; how many calls were refused since the start."""
        self._waiting: FairQueue[str, asyncio.Future[None]] = FairQueue()
        self._usual: LruCache[str, float] = LruCache(_MAX_ORGS)
        """Average seconds of an org's assemblies."""
        self._latest = ""
        self._lock = Lock()

    def __len__(self) -> int:
        """How many calls wait."""
        return len(self._waiting)

    def busy(self) -> bool:
        """Whether an assembly works or waits."""
        return self.working > 0 or len(self._waiting) > 0

    async def acquire(self, deadline: Deadline, clock: Clock, org: str) -> Slot | None:
        """Waits for a slot, until gathering would have to end at the latest. Without a deadline returns None at once. Raises
        `Overloaded` where the slot would come too late."""
        if deadline.gathered is None:
            return None
        now = clock.steady()
        with self._lock:
            if self._free:
                self._free -= 1
                self._latest = org
                return Slot(self, org, now, skip_search=False)
            if now + self._wait(org) > deadline.gathered:
                self.shed += 1
                raise Overloaded
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.put(org, mine)
        try:
            await asyncio.wait([mine], timeout=max(0.0, deadline.gathered - now))
        except asyncio.CancelledError:
            self._leave(org, mine)
            raise
        if not mine.done():
            self._leave(org, mine)
            self.shed += 1
            raise Overloaded
        now = clock.steady()
        return Slot(self, org, now, skip_search=now + self._usual.get(org, 0.0) > deadline.gathered)

    def learn(self, org: str, seconds: float) -> None:
        """An assembly of this org took so many seconds."""
        with self._lock:
            usual = self._usual.get(org, seconds)
            self._usual.put(org, usual + _NEWEST * (seconds - usual))

    def release(self) -> None:
        """A slot is free: the next call in the queue gets it."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            self._latest, waiting = self._waiting.pop()
        loop = waiting.get_loop()
        if loop is asyncio.get_running_loop():
            self._give(waiting)
            return
        try:
            loop.call_soon_threadsafe(self._give, waiting)
        except RuntimeError:  # the waiting call's event loop has been closed meanwhile
            self.release()

    def _wait(self, org: str) -> float:
        """Seconds that a new call of `org` would likely wait: for the assembly at work, and for the calls before it."""
        before = sum(self._usual.get(other, 0.0) * count for other, count in self._waiting.ahead(org).items())
        return (before + self._usual.get(self._latest, 0.0)) / self._slots

    def _give(self, waiting: asyncio.Future[None]) -> None:
        if waiting.cancelled():
            self.release()
        else:
            waiting.set_result(None)

    def _leave(self, org: str, mine: asyncio.Future[None]) -> None:
        """Stops waiting. A slot that was given in the same moment goes to the next call."""
        with self._lock:
            if self._waiting.remove(org, mine):
                return
        if mine.done():
            self.release()
        else:
            mine.cancel()
