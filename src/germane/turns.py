"""Turns: admission. A few assemblies work at the same time, the others wait in the order they came (ENGINE-4).

Assembling is work for the processor, and twenty that share one are all late. One after another the first are in time, and what
can't be is known beforehand, from how long the latest took: it is refused while that is still cheap, or searches no more. A
turn counts for a while only: whoever takes longer waits for something else than the processor.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from threading import Lock

from germane.clock import Clock
from germane.deadline import Deadline

__all__ = ["Shed", "Turn", "Turns"]

_MANY = 3
"""Processors from which two work at the same time: beside the interpreter's one, searches keep a second busy."""
_COUNTS = 0.012
"""Seconds that a turn counts for: a source that waits for a network keeps nobody waiting for the processor."""
_NEWEST = 0.2
"""Weight of the latest turn in what one usually takes."""


class Shed(Exception):
    """There are too many before: this one would be late."""


class Turn:
    """`hurried`: so late that searching would take too long."""

    __slots__ = ("_began", "_counted", "_timer", "_turns", "hurried")

    def __init__(self, turns: Turns, began: float, *, hurried: bool) -> None:
        self.hurried = hurried
        turns.working += 1
        self._turns, self._began, self._counted = turns, began, True
        self._timer = asyncio.get_running_loop().call_later(_COUNTS, self._lapse)

    def end(self, now: float) -> None:
        """To be called whatever happens."""
        self._timer.cancel()
        self._turns.working -= 1
        if not self.hurried:
            self._turns.learn(now - self._began)
        self._lapse()

    def _lapse(self) -> None:
        if self._counted:
            self._counted = False
            self._turns.free()


class Turns:
    """`most` at once, by default as many as keep the machine busy. Callable from several event loops."""

    def __init__(self, most: int | None = None) -> None:
        if most is None:
            most = 2 if (os.cpu_count() or 1) >= _MANY else 1
        self._free, self._most = most, most
        self.working, self.shed = 0, 0
        """How many turns haven't ended; how many were refused since the start."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._usual = 0.0
        self._lock = Lock()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def take(self, deadline: Deadline, clock: Clock) -> Turn | None:
        """Waits no longer than gathering may last; without a deadline there is nothing to wait for, and no turn. Raises `Shed`
        when it wouldn't do."""
        if deadline.gathered is None:
            return None
        now = clock.steady()
        with self._lock:
            if self._free:
                self._free -= 1
                return Turn(self, now, hurried=False)
            if now + self._usual * (len(self._waiting) + 1) / self._most > deadline.gathered:
                self.shed += 1
                raise Shed
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(mine)
        try:
            await asyncio.wait([mine], timeout=max(0.0, deadline.gathered - now))
        except asyncio.CancelledError:
            self._leave(mine)
            raise
        if not mine.done():
            self._leave(mine)
            self.shed += 1
            raise Shed
        now = clock.steady()
        return Turn(self, now, hurried=now + self._usual > deadline.gathered)

    def learn(self, took: float) -> None:
        self._usual += _NEWEST * (took - self._usual) if self._usual else took

    def free(self) -> None:
        """A place is free: for the first who still waits for it."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            turn = self._waiting.popleft()
        loop = turn.get_loop()
        if loop is asyncio.get_running_loop():
            self._give(turn)
            return
        try:
            loop.call_soon_threadsafe(self._give, turn)
        except RuntimeError:  # that loop has been closed since
            self.free()

    def _give(self, turn: asyncio.Future[None]) -> None:
        if turn.cancelled():
            self.free()
        else:
            turn.set_result(None)

    def _leave(self, mine: asyncio.Future[None]) -> None:
        """Waits no more; a turn that came all the same goes to the next."""
        with self._lock:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return
        if mine.done():
            self.free()
        else:
            mine.cancel()
