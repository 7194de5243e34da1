"""Turns: admission. A few assemblies work at the same time, the others wait (ENGINE-4).

Assembling is work for the processor, and twenty that share one are all late. One after another the first are in time, and what
can't be is known beforehand, from how long the latest of each org took: it is refused while that is still cheap, or searches no
more. A turn counts for a while only: an assembly that takes longer waits for something else than the processor.

Calls of one org are served in the order they came, and the orgs in turn (round robin): a crowd of one org, or assemblies of one
that take long, make that org wait and not its neighbours.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from threading import Lock

from germane.clock import Clock
from germane.pipeline.deadline import Deadline
from germane.pipeline.fair_queue import FairQueue

__all__ = ["AdmissionQueue", "Overloaded", "Slot"]

_MANY = 3
"""Processors from which two work at the same time: beside the interpreter's one, searches keep a second busy."""
_COUNTS = 0.012
"""Seconds that a turn counts for: a source that waits for a network keeps nobody waiting for the processor."""
_NEWEST = 0.2
"""Weight of the latest turn in what one usually takes."""
_ORGS = 1024
"""Orgs of which it is known how long their turns usually take; beyond that the org seen least recently is forgotten."""


class Overloaded(Exception):
    """There are too many before: this one would be late."""


class Slot:
    """`skip_search`: so late that searching would take too long."""

    __slots__ = ("_began", "_counted", "_org", "_queue", "_timer", "skip_search")

    def __init__(self, queue: AdmissionQueue, org: str, began: float, *, skip_search: bool) -> None:
        self.skip_search = skip_search
        queue.working += 1
        self._queue, self._org, self._began, self._counted = queue, org, began, True
        self._timer = asyncio.get_running_loop().call_later(_COUNTS, self._lapse)

    def end(self, now: float) -> None:
        """To be called whatever happens."""
        self._timer.cancel()
        self._queue.working -= 1
        if not self.skip_search:
            self._queue.learn(self._org, now - self._began)
        self._lapse()

    def _lapse(self) -> None:
        if self._counted:
            self._counted = False
            self._queue.free()


class AdmissionQueue:
    """`most` at once, by default as many as keep the machine busy. Callable from several event loops."""

    def __init__(self, most: int | None = None) -> None:
        if most is None:
            most = 2 if (os.cpu_count() or 1) >= _MANY else 1
        self._free, self._most = most, most
        self.working, self.shed = 0, 0
        """How many turns haven't ended; how many were refused since the start."""
        self._waiting: FairQueue[str, asyncio.Future[None]] = FairQueue()
        self._usual: OrderedDict[str, float] = OrderedDict()
        self._latest = ""
        self._lock = Lock()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def busy(self) -> bool:
        """Whether an assembly works or waits."""
        return self.working > 0 or len(self._waiting) > 0

    async def acquire(self, deadline: Deadline, clock: Clock, org: str) -> Slot | None:
        """Waits until it is the caller's turn, no longer than gathering may last. Returns None at once where there is no
        deadline. Raises `Overloaded` where the turn would come too late."""
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

    def learn(self, org: str, took: float) -> None:
        with self._lock:
            usual = self._usual.get(org, took)
            self._usual[org] = usual + _NEWEST * (took - usual)
            self._usual.move_to_end(org)
            if len(self._usual) > _ORGS:
                self._usual.popitem(last=False)

    def _wait(self, org: str) -> float:
        """Seconds that a new call of `org` would likely wait: for the turn that is being served, and for those before it."""
        before = sum(self._usual.get(other, 0.0) * count for other, count in self._waiting.ahead(org).items())
        return (before + self._usual.get(self._latest, 0.0)) / self._most

    def free(self) -> None:
        """A place is free: for the first who still waits for it."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            self._latest, slot = self._waiting.pop()
        loop = slot.get_loop()
        if loop is asyncio.get_running_loop():
            self._give(slot)
            return
        try:
            loop.call_soon_threadsafe(self._give, slot)
        except RuntimeError:  # that loop has been closed since
            self.free()

    def _give(self, slot: asyncio.Future[None]) -> None:
        if slot.cancelled():
            self.free()
        else:
            slot.set_result(None)

    def _leave(self, org: str, mine: asyncio.Future[None]) -> None:
        """Waits no more; a turn that came all the same goes to the next."""
        with self._lock:
            if self._waiting.remove(org, mine):
                return
        if mine.done():
            self.free()
        else:
            mine.cancel()
