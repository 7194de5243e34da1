"""Saturation: whether calls with a good key are being turned away for want of slots, looked at once a second.

What callers without a key are refused doesn't count: nobody may take the service out of rotation without one. Nor does an org
that has used up its own share while others are served.
"""

from __future__ import annotations

from germane.observe.traffic import Traffic

__all__ = ["Saturation"]


class Saturation:
    """`on` from the look that finds the port full, or more calls turned away than admitted since the look before; off again
    after `recovered` looks without."""

    def __init__(self, recovered: int = 3) -> None:
        self._recovered = recovered
        self._calm = recovered
        self._admitted = self._refused = 0

    @property
    def on(self) -> bool:
        return self._calm < self._recovered

    def look(self, traffic: Traffic) -> None:
        """Once; the totals of `traffic` count from the look before."""
        refused = traffic.refused.get("slots", 0)
        turned_away, admitted = refused - self._refused, traffic.admitted - self._admitted
        self._refused, self._admitted = refused, traffic.admitted
        self._calm = 0 if traffic.full or turned_away > admitted else min(self._recovered, self._calm + 1)
