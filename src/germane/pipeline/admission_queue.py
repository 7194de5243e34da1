"""Admission queue: how many assemblies work at once, and which waiting one is next (ENGINE-4, ENGINE-10).

Assembling needs the processor, and twenty assemblies that share one are all late. One after another, the first are in time. A
call waits as long as its deadline allows: whether it is in time shows when a slot is free. A call is refused at once only
where it would be late even if the calls before it were quick; how quick they are taken to be, and whether its own time counts
as well, depends on how many calls waited in vain lately. Calls that wait in vain are answered late in their time, so that
their answers don't delay the assemblies that are in time.

A call behind which others of its org wait that would be late searches for the best few results only (`shallow`): most of what
a full search shows, in little more than half of the time. While calls are refused all the same, every call of that org does.

Calls of one org are served in the order they came, and the orgs in turn (round robin): many calls of one org, or slow ones,
make that org wait and not its neighbours. A call that can't be in time any more is passed over while another one can.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from threading import Lock
from typing import NoReturn

from germane.clock import Clock
from germane.pipeline.admission_pace import AdmissionPace
from germane.pipeline.admission_slot import Searching, Slot
from germane.pipeline.deadline import Deadline
from germane.pipeline.fair_queue import FairQueue

__all__ = ["AdmissionQueue", "Overloaded"]

_TWO_SLOTS_FROM = 3
"""Processors from which two assemblies work at once: beside the one that runs Python, searches keep a second processor busy."""
_SLOWER = 1.5
"""How many times its usual time an assembly is expected to take at most: an assembly that is late makes others late too."""
_JITTER = 1.25
"""How many times their usual time several assemblies are expected to take at most, one after another."""
_REFUSING, _SPARE = 0.00025, 0.012
"""Seconds that the answer to a refused call takes: calls that wait in vain end one after another, or the last would be late;
and seconds before the answer is due at which the last of them ends: a busy machine may stop the process for that long."""


class Overloaded(Exception):
    """Too many assemblies wait before this one: it would be late."""


class _Waiting:
    """A call in the queue. `turn` becomes True where the call gets a slot, and False where it waits in vain."""

    __slots__ = ("deadline", "loop", "turn")

    def __init__(self, deadline: Deadline) -> None:
        self.deadline, self.loop = deadline, asyncio.get_running_loop()
        self.turn: asyncio.Future[bool] = self.loop.create_future()

    def end(self, *, served: bool) -> None:
        if not self.turn.done():
            self.turn.set_result(served)


class AdmissionQueue:
    """`slots` assemblies at once, by default as many as keep the machine busy. `cpu` returns the processor time of this process
    in seconds. Callable from several event loops."""

    def __init__(self, slots: int | None = None, cpu: Callable[[], float] = time.process_time) -> None:
        self.cpu = cpu
        if slots is None:
            slots = 2 if (os.cpu_count() or 1) >= _TWO_SLOTS_FROM else 1
        self._free, self._slots = slots, slots
        self.working, self.shed = 0, 0
        """How many slots haven't ended; how many calls were refused since the start."""
        self._waiting: FairQueue[str, _Waiting] = FairQueue()
        self._pace = AdmissionPace()
        self._clock = Clock()
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
        mine: _Waiting | None = None
        with self._lock:
            self._clock = clock
            if self._free:
                self._free -= 1
                self._latest = org
            else:
                mine, patience = self._line_up(org, deadline, clock.steady())
        if mine is None:
            await self._let_others_line_up()
            now = clock.steady()
            with self._lock:
                crowded = self._crowded(org, now)
            return Slot(self, org, now, "shallow" if crowded else "full")
        timer = mine.loop.call_later(patience, self._expire, org, mine)
        try:
            served = await mine.turn
        except asyncio.CancelledError:
            self._leave(org, mine)
            raise
        finally:
            timer.cancel()
        now = clock.steady()
        with self._lock:
            if not served:
                self._refuse(org, now)
            searching = self._searching(org, deadline, now)
        return Slot(self, org, now, searching)

    def _line_up(self, org: str, deadline: Deadline, now: float) -> tuple[_Waiting, float]:
        """Puts a call into the queue. Returns it with the seconds that it waits at most; raises `Overloaded`."""
        self._pace.waits(now)
        ahead = self._waiting.ahead(org)
        starts = now + self._pace.wait(ahead, self._latest, self._slots)
        if not self._in_time(org, deadline, starts, share=self._pace.doubt, shallow=True):
            self._refuse(org, now)
        mine = _Waiting(deadline)
        self._waiting.put(org, mine)
        return mine, self._patience(org, deadline, now, ahead.total())

    def _refuse(self, org: str, now: float) -> NoReturn:
        self._pace.refused(org, now)
        self.shed += 1
        raise Overloaded

    async def _let_others_line_up(self) -> None:
        """The calls of the same moment are checked, and queued or refused, before the first one begins: that takes longer than
        an assembly where they are hundreds, and isn't time that an assembly needs."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.release()
            raise

    def learn(self, org: str, seconds: float, gathering: float | None, *, shallow: bool = False) -> None:
        """An assembly of this org kept its slot for so many seconds, and had gathered after `gathering`."""
        with self._lock:
            self._pace.learn(org, seconds, gathering, shallow=shallow)

    def release(self) -> None:
        """A slot is free: the next call in the queue that can be in time gets it; where none can, the next one."""
        passed: list[_Waiting] = []
        with self._lock:
            chosen = self._next(passed)
            if chosen is None:
                self._free += 1
        for waiting in passed:
            self._tell(waiting, served=False)
        if chosen is not None and not self._tell(chosen, served=True):
            self.release()

    def _next(self, passed: list[_Waiting]) -> _Waiting | None:
        """Takes the oldest call that can be in time out of the queue, and into `passed` the calls before it, which can't. Where
        no call can, takes the oldest that has half of the time; calls with less go into `passed`, and the others wait on."""
        now, late = self._clock.steady(), list[tuple[str, _Waiting]]()
        while self._waiting:
            self._latest, waiting = self._waiting.pop()
            if self._in_time(self._latest, waiting.deadline, now, shallow=True):
                passed += [other for _, other in late]
                self._pace.in_vain(len(late))
                self._pace.served()
                return waiting
            late.append((self._latest, waiting))
        hasty = [(org, waiting) for org, waiting in late if self._in_time(org, waiting.deadline, now, share=0.5)]
        for org, waiting in hasty[1:]:
            self._waiting.put(org, waiting)
        if hopeless := [waiting for org, waiting in late if not self._in_time(org, waiting.deadline, now, share=0.5)]:
            passed += hopeless
            self._pace.in_vain(len(hopeless))
        if not hasty:
            return None
        self._latest, oldest = hasty[0]
        return oldest

    def _patience(self, org: str, deadline: Deadline, now: float, ahead: int) -> float:
        """Seconds that a call waits at most: less than half of a gathering is no use, and each of the calls ahead that waits in
        vain needs time for its answer."""
        if deadline.answer is None or deadline.gathered is None:
            return 0.0
        left = max(0.0, deadline.gathered - now)
        answerable = deadline.answer - now - _SPARE - _REFUSING * ahead
        return max(left / 2, min(left - self._pace.gathering(org) / 2, answerable))

    def _searching(self, org: str, deadline: Deadline, now: float) -> Searching:
        """How far a call may search that begins now."""
        if self._in_time(org, deadline, now) and not self._crowded(org, now):
            return "full"
        return "shallow" if self._in_time(org, deadline, now, shallow=True) else "none"

    def _crowded(self, org: str, now: float) -> bool:
        """Whether a call of this org was refused in the last moment; or one waits, while calls have waited in vain lately, or a
        full search would make the newest one late, also if those before it are shallow."""
        if self._pace.refused_lately(org, now):
            return True
        newest = self._waiting.newest(org)
        if newest is None or newest.deadline.gathered is None:
            return False
        if self._pace.doubt:
            return True
        before = self._pace.usual(org) + self._pace.together(self._waiting.ahead(org), shallow=True)
        return now + _JITTER * before / self._slots > newest.deadline.gathered

    def _in_time(self, org: str, deadline: Deadline, now: float, share: float = 1.0, *, shallow: bool = False) -> bool:
        """Whether this share of a gathering would end in time if it began now, and of a whole assembly too, also where that is
        slower than usual, before the calls that still wait have to be answered."""
        if deadline.answer is None or deadline.gathered is None:
            return True
        if now + share * self._pace.gathering(org, shallow=shallow) > deadline.gathered:
            return False
        usual = self._pace.usual(org, shallow=shallow)
        return now + share * _SLOWER * usual + _REFUSING * len(self._waiting) <= deadline.answer

    def _tell(self, waiting: _Waiting, *, served: bool) -> bool:
        """Ends the waiting, on its own event loop. Returns whether that loop still runs."""
        if waiting.loop is asyncio.get_running_loop():
            self._end(waiting, served)
            return True
        try:
            waiting.loop.call_soon_threadsafe(self._end, waiting, served)
        except RuntimeError:  # the event loop has been closed meanwhile
            return False
        return True

    def _end(self, waiting: _Waiting, served: bool) -> None:
        if served and waiting.turn.done():
            self.release()
        else:
            waiting.end(served=served)

    def _expire(self, org: str, mine: _Waiting) -> None:
        with self._lock:
            waited = self._waiting.remove(org, mine)
            if waited:
                self._pace.in_vain()
        if waited:
            mine.end(served=False)

    def _leave(self, org: str, mine: _Waiting) -> None:
        """Stops waiting. A slot that was given in the same moment goes to the next call."""
        with self._lock:
            if self._waiting.remove(org, mine):
                return
        if mine.turn.done() and not mine.turn.cancelled() and mine.turn.result():
            self.release()
