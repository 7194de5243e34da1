"""Pace: how quickly calls that can't be used are refused. Arithmetic alone; whoever asks for a delay keeps to it.

A refusal takes about a millisecond of the machine. An org that sends nothing else, as fast as it is answered, would
take all of it from the others. So each org is told of a few at once and of more no faster than at a steady rate, the slower the
larger its requests are.
"""

from __future__ import annotations

from collections import OrderedDict

__all__ = ["Pace"]

_ORGS = 1024
_COUNTS = 64 * 1024
"""Bytes of a request that take about as long to receive and read as it takes to refuse one."""


class Pace:
    """A leaky bucket an org. Bounded: the org seen least recently is forgotten first."""

    def __init__(self, *, rate: float = 50.0, burst: int = 50, longest: float = 1.0) -> None:
        """`rate` refusals a second after `burst` at once; none waits longer than `longest` seconds."""
        self._each, self._burst, self._longest = 1 / rate, burst / rate, longest
        self._free: OrderedDict[str, float] = OrderedDict()

    def delay(self, org: str, now: float, size: int = 0) -> float:
        """Seconds that one more refusal of `org` waits, of a request of `size` bytes: each 64 KB count as another refusal.
        `now` is on a steady clock."""
        free = max(self._free.get(org, 0.0), now - self._burst) + self._each * (1 + size // _COUNTS)
        self._free[org] = min(free, now + self._longest)
        self._free.move_to_end(org)
        if len(self._free) > _ORGS:
            self._free.popitem(last=False)
        return min(self._longest, max(0.0, free - now))
