"""Admission: how many assemblies work at once, and which waiting call is next (ENGINE-4, ENGINE-10).

Assembling needs the processor, and twenty assemblies that share one processor are all late. One after another, the first ones
are in time. A call waits as long as its deadline allows: whether it is in time shows when a slot is free. A call is refused
at once only if it would be late even if the calls before it were quick; how quick they are taken to be, and whether its own
time counts as well, depends on how many calls waited in vain lately. Calls that wait in vain get their answer near the end of
their time, so that their answers don't delay the assemblies that are in time.

If others of its org that wait behind a call would be late, the call searches for the best few results only (`shallow`): these
are most of what a full search shows, in little more than half of the time. While calls are refused all the same, every call
of that org searches so.

Calls of one org are served in the order in which they came, and the orgs in turn (round robin): many calls of one org, or
slow ones, make that org wait and not its neighbours. A call that can't be in time any more is passed over while another one
can.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from math import inf
from threading import Lock
from typing import Generic, Literal, NoReturn, Protocol, TypeVar

from germane.clock import Clock
from germane.engine.assembly import Deadline
from germane.types.caches import LruCache

_TWO_SLOTS_FROM = 3
"""Processors from which two assemblies work at once: beside the one that runs Python, searches keep a second processor busy."""
_MAX_SLOWDOWN = 1.5
"""How many times its usual time an assembly is expected to take at most: an assembly that is late makes others late too."""
_MAX_JITTER = 1.25
"""How many times their usual time several assemblies are expected to take at most, one after another."""
_REFUSAL_SECONDS, _SPARE_SECONDS = 0.00025, 0.012
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
        answerable = deadline.answer - now - _SPARE_SECONDS - _REFUSAL_SECONDS * ahead
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
        return now + _MAX_JITTER * before / self._slots > newest.deadline.gathered

    def _in_time(self, org: str, deadline: Deadline, now: float, share: float = 1.0, *, shallow: bool = False) -> bool:
        """Whether this share of a gathering would end in time if it began now, and of a whole assembly too, also where that is
        slower than usual, before the calls that still wait have to be answered."""
        if deadline.answer is None or deadline.gathered is None:
            return True
        if now + share * self._pace.gathering(org, shallow=shallow) > deadline.gathered:
            return False
        usual = self._pace.usual(org, shallow=shallow)
        return now + share * _MAX_SLOWDOWN * usual + _REFUSAL_SECONDS * len(self._waiting) <= deadline.answer

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


# One assembly's turn to work. A slot counts as occupied for a limited time: an assembly that takes longer waits for
# something else than the processor, such as a source in a network, and doesn't keep others from it.


_PERIOD = 0.012
"""Seconds that a slot counts as occupied."""
_MAX_PERIODS, _COMPUTING_SHARE = 4, 0.25
"""How often that time counts at most where this process computes meanwhile: the share of one processor from which it does."""


Searching = Literal["full", "shallow", "none"]
"""How far an assembly may search: `shallow`, for the best few results, where calls that wait would else be late, and not at all
where so much time was spent waiting that a search would be late."""


class _Queue(Protocol):
    """What a slot needs of its queue: `cpu` returns the processor time of this process in seconds."""

    working: int
    cpu: Callable[[], float]

    def learn(self, org: str, seconds: float, gathering: float | None, *, shallow: bool) -> None: ...

    def release(self) -> None: ...


class Slot:
    """The right to work, until `end`, and to search as far as `searching` says. The assembly sets `gathered` to the time at
    which gathering ended."""

    __slots__ = ("_began", "_counted", "_cpu", "_org", "_periods", "_queue", "_timer", "gathered", "searching")

    def __init__(self, queue: _Queue, org: str, began: float, searching: Searching) -> None:
        self.searching = searching
        self.gathered: float | None = None
        queue.working += 1
        self._queue, self._org, self._began, self._counted = queue, org, began, True
        self._periods, self._cpu = 1, queue.cpu()
        self._timer = asyncio.get_running_loop().call_later(_PERIOD, self._due)

    def end(self, now: float) -> None:
        """Gives the slot back. The assembly calls it whatever happened."""
        self._timer.cancel()
        self._queue.working -= 1
        if self.searching != "none":
            gathering = None if self.gathered is None else self.gathered - self._began
            occupied = now - self._began if self._counted else self._periods * _PERIOD
            self._queue.learn(self._org, occupied, gathering, shallow=self.searching == "shallow")
        self._lapse()

    def _due(self) -> None:
        """The slot lapses, unless this process computed: then the assembly doesn't wait for something else."""
        cpu = self._queue.cpu()
        if self._periods < _MAX_PERIODS and cpu - self._cpu >= _COMPUTING_SHARE * _PERIOD:
            self._periods, self._cpu = self._periods + 1, cpu
            self._timer = asyncio.get_running_loop().call_later(_PERIOD, self._due)
        else:
            self._lapse()

    def _lapse(self) -> None:
        if self._counted:
            self._counted = False
            self._queue.release()


# How long the latest assemblies of each org took, and how long a new call would wait at that pace. Assemblies that
# searched far and those that searched for the best few only have a pace each.


_MAX_LATEST, _OUTLIERS = 8, 4
"""The latest assemblies of an org that count, and one in how many of them is left out (the longest): the first assembly of a
process or of a crowd takes many times as long as the following ones."""
_MAX_ORGS = 1024
"""Orgs whose pace is kept. The least recently used is evicted."""
_SHALLOW_SHARE = 0.65
"""The share of its usual time that an assembly with a shallow search is expected to take until one was seen. Measured: 0.57 to
0.67, where many messages match."""
_MIN_CAUTION, _MAX_CAUTION = 0.5, 1.5
"""Bounds of the factor on the estimated wait. With the first a call waits although it would be late at the usual pace."""
_IN_VAIN, _SERVED = 0.25, 0.004
"""What a call that waited in vain adds to the factor, and what a call that waited and got a slot takes off. Four calls in vain
are enough for overload to be known, and then nearly all refused calls are refused at once."""
_FULL_DOUBT = 0.5
"""How far the factor has risen when a call must have all of its usual time left."""
_REFUSAL_MEMORY = 0.1
"""Seconds for which a refused call tells that there are too many."""
_CROWD_GAP = 0.1
"""Seconds without a waiting call after which the next crowd is another one: the factor starts again."""


class _TrimmedMean:
    """The mean of the latest values without the highest quarter, rounded up; a single value is its own mean."""

    __slots__ = ("_latest", "mean")

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=_MAX_LATEST)
        self.mean = 0.0

    def add(self, value: float) -> None:
        self._latest.append(value)
        count = len(self._latest)
        usual = sorted(self._latest)[: max(1, count - -(-count // _OUTLIERS))]
        self.mean = sum(usual) / len(usual)


class AdmissionPace:
    """Mutable; not thread-safe: its owner holds a lock."""

    def __init__(self) -> None:
        self._usual: LruCache[tuple[str, bool], _TrimmedMean] = LruCache(2 * _MAX_ORGS)
        """Seconds that an org's assemblies keep their slot, full and shallow ones."""
        self._gathering: LruCache[tuple[str, bool], _TrimmedMean] = LruCache(2 * _MAX_ORGS)
        """Seconds from their beginning to the end of gathering."""
        self._refused: LruCache[str, float] = LruCache(_MAX_ORGS)
        """When a call of the org was refused last."""
        self._caution, self._waited_at = _MIN_CAUTION, 0.0

    def usual(self, org: str, *, shallow: bool = False) -> float:
        """Seconds that an assembly of this org usually keeps its slot, or a `shallow` one; 0 where none was learned."""
        return self._expected(self._usual, org, shallow)

    def gathering(self, org: str, *, shallow: bool = False) -> float:
        """Seconds until an assembly of this org has usually gathered, or a `shallow` one; 0 where none was learned."""
        return self._expected(self._gathering, org, shallow)

    def learn(self, org: str, seconds: float, gathering: float | None, *, shallow: bool = False) -> None:
        """An assembly kept its slot for so many seconds, and had gathered after `gathering`; None where it gathered nothing."""
        for paces, value in ((self._usual, seconds), (self._gathering, gathering)):
            if value is not None:
                pace = paces.get((org, shallow)) or _TrimmedMean()
                pace.add(value)
                paces.put((org, shallow), pace)

    def _expected(self, paces: LruCache[tuple[str, bool], _TrimmedMean], org: str, shallow: bool) -> float:
        full, seen = paces.get((org, False)), paces.get((org, True))
        usual = 0.0 if full is None else full.mean
        if not shallow:
            return usual
        return _SHALLOW_SHARE * usual if seen is None else min(usual, seen.mean)

    def wait(self, ahead: Counter[str], working: str, slots: int) -> float:
        """Seconds that a call waits at least, as far as is known: for the assembly at work, of the org `working`, and for the
        calls `ahead`, counted by org."""
        return self._caution * (self.usual(working) + self.together(ahead)) / slots

    def together(self, calls: Counter[str], *, shallow: bool = False) -> float:
        """Seconds that calls, counted by org, usually take one after another, or `shallow` ones."""
        return sum(self.usual(org, shallow=shallow) * count for org, count in calls.items())

    @property
    def doubt(self) -> float:
        """The share of its usual time that a call must have left after its wait, in [0, 1]: 0 while no call waits in vain."""
        return min(1.0, (self._caution - _MIN_CAUTION) / _FULL_DOUBT)

    def refused(self, org: str, now: float) -> None:
        """A call of this org was refused, at this time on the steady clock, in seconds."""
        self._refused.put(org, now)

    def refused_lately(self, org: str, now: float) -> bool:
        """Whether a call of this org was refused in the last tenth of a second."""
        return now - self._refused.get(org, -inf) < _REFUSAL_MEMORY

    def in_vain(self, calls: int = 1) -> None:
        """Calls waited and were refused: estimates were too low."""
        self._caution = min(_MAX_CAUTION, self._caution + _IN_VAIN * calls)

    def served(self) -> None:
        """A call waited and got a slot."""
        self._caution = max(_MIN_CAUTION, self._caution - _SERVED)

    def waits(self, now: float) -> None:
        """A call waits, at this time on the steady clock, in seconds."""
        if now - self._waited_at > _CROWD_GAP:
            self._caution = _MIN_CAUTION
        self._waited_at = now


# The waiting calls: first in, first out for each key, and the keys in turn, so that no key holds up the others.


K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Hashable)


class FairQueue(Generic[K, T]):
    """Each item once. `put`, `pop` and `remove` take constant time; `ahead` is linear in the keys. Not thread-safe."""

    def __init__(self) -> None:
        self._lines: OrderedDict[K, OrderedDict[T, None]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, key: K, item: T) -> None:
        self._lines.setdefault(key, OrderedDict())[item] = None
        self._length += 1

    def pop(self) -> tuple[K, T]:
        """The next item and its key; the key's other items wait until every other key has had one. Raises `KeyError`."""
        key, line = self._lines.popitem(last=False)
        item, _ = line.popitem(last=False)
        self._length -= 1
        if line:
            self._lines[key] = line
        return key, item

    def remove(self, key: K, item: T) -> bool:
        """Takes the item out of the queue. Returns whether it was there."""
        line = self._lines.get(key)
        if line is None or item not in line:
            return False
        del line[item]
        self._length -= 1
        if not line:
            del self._lines[key]
        return True

    def newest(self, key: K) -> T | None:
        """The item of this key that was put last, None where none waits."""
        line = self._lines.get(key)
        return next(reversed(line)) if line else None

    def ahead(self, key: K) -> Counter[K]:
        """How many items of each key would be popped before a new one of `key`."""
        own = len(self._lines.get(key, ()))
        found: Counter[K] = Counter()
        seen = False
        for other, line in self._lines.items():
            seen = seen or other == key
            found[other] = own if other == key else min(len(line), own if seen and own else own + 1)
        return found
