"""Admission pace: how long the latest assemblies of each org took, and how long a new call would wait at that pace."""

from __future__ import annotations

from collections import Counter

from germane.types.lru_cache import LruCache

__all__ = ["AdmissionPace"]

_NEWEST = 0.2
"""Weight of the latest assembly in the average (exponential moving average)."""
_MAX_ORGS = 1024
"""Orgs whose average is kept. The least recently used is evicted."""
_LEAST_CAUTION, _MOST_CAUTION = 0.5, 1.5
"""Bounds of the factor on the estimated wait. With the first a call waits although it would be late at the usual pace."""
_IN_VAIN, _SERVED = 0.1, 0.004
"""What a call that waited in vain adds to the factor, and what a call that waited and got a slot takes off. Under lasting
overload nearly all refused calls are refused at once."""
_CROWD = 0.1
"""Seconds without a waiting call after which the next crowd is another one: the factor starts again."""


class AdmissionPace:
    """Mutable; not thread-safe: its owner holds a lock."""

    def __init__(self) -> None:
        self._usual: LruCache[str, float] = LruCache(_MAX_ORGS)
        """Average seconds that an org's assemblies keep their slot."""
        self._gathering: LruCache[str, float] = LruCache(_MAX_ORGS)
        """Average seconds from their beginning to the end of gathering."""
        self._caution, self._waited_at = _LEAST_CAUTION, 0.0

    def usual(self, org: str) -> float:
        """Seconds that an assembly of this org keeps its slot on average; 0 where none was learned."""
        return self._usual.get(org, 0.0)

    def gathering(self, org: str) -> float:
        """Seconds until an assembly of this org has gathered, on average; 0 where none was learned."""
        return self._gathering.get(org, 0.0)

    def learn(self, org: str, seconds: float, gathering: float | None) -> None:
        """An assembly kept its slot for so many seconds, and had gathered after `gathering`; None where it gathered nothing."""
        for averages, value in ((self._usual, seconds), (self._gathering, gathering)):
            if value is not None:
                usual = averages.get(org, value)
                averages.put(org, usual + _NEWEST * (value - usual))

    def wait(self, ahead: Counter[str], working: str, slots: int) -> float:
        """Seconds that a call waits at least, as far as is known: for the assembly at work, of the org `working`, and for the
        calls `ahead`, counted by org."""
        before = sum(self.usual(org) * count for org, count in ahead.items())
        return self._caution * (before + self.usual(working)) / slots

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
