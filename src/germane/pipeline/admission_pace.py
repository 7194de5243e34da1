"""Admission pace: how long the latest assemblies of each org took, and how long a new call would wait at that pace.

Assemblies that searched far and those that searched for the best few only have a pace each.
"""

from __future__ import annotations

from collections import Counter, deque
from math import inf

from germane.types.lru_cache import LruCache

__all__ = ["AdmissionPace"]

_LATEST, _OUTLIERS = 8, 4
"""The latest assemblies of an org that count, and one in how many of them is left out (the longest): the first assembly of a
process or of a crowd takes many times as long as the following ones."""
_MAX_ORGS = 1024
"""Orgs whose pace is kept. The least recently used is evicted."""
_SHALLOW = 0.65
"""The share of its usual time that an assembly with a shallow search is expected to take until one was seen. Measured: 0.57 to
0.67, where many messages match."""
_LEAST_CAUTION, _MOST_CAUTION = 0.5, 1.5
"""Bounds of the factor on the estimated wait. With the first a call waits although it would be late at the usual pace."""
_IN_VAIN, _SERVED = 0.25, 0.004
"""What a call that waited in vain adds to the factor, and what a call that waited and got a slot takes off. Four calls in vain
are enough for overload to be known, and then nearly all refused calls are refused at once."""
_DOUBTING = 0.5
"""How far the factor has risen when a call must have all of its usual time left."""
_LATELY = 0.1
"""Seconds for which a refused call tells that there are too many."""
_CROWD = 0.1
"""Seconds without a waiting call after which the next crowd is another one: the factor starts again."""


class _TrimmedMean:
    """The mean of the latest values without the highest quarter, rounded up; a single value is its own mean."""

    __slots__ = ("_latest", "mean")

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=_LATEST)
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
        self._caution, self._waited_at = _LEAST_CAUTION, 0.0

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
        return _SHALLOW * usual if seen is None else min(usual, seen.mean)

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
        return min(1.0, (self._caution - _LEAST_CAUTION) / _DOUBTING)

    def refused(self, org: str, now: float) -> None:
        """A call of this org was refused, at this time on the steady clock, in seconds."""
        self._refused.put(org, now)

    def refused_lately(self, org: str, now: float) -> bool:
        """Whether a call of this org was refused in the last tenth of a second."""
        return now - self._refused.get(org, -inf) < _LATELY

    def in_vain(self, calls: int = 1) -> None:
        """Calls waited and were refused: estimates were too low."""
        self._caution = min(_MOST_CAUTION, self._caution + _IN_VAIN * calls)

    def served(self) -> None:
        """A call waited and got a slot."""
        self._caution = max(_LEAST_CAUTION, self._caution - _SERVED)

    def waits(self, now: float) -> None:
        """A call waits, at this time on the steady clock, in seconds."""
        if now - self._waited_at > _CROWD:
            self._caution = _LEAST_CAUTION
        self._waited_at = now
