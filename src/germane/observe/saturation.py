"""Saturation: whether a port refuses calls with valid keys because all its slots are taken.

Two kinds of refusals don't count. Calls without a valid key don't, or anyone could take the service out of rotation. Calls
above an org's own share don't either, since other orgs are still served.
"""

from __future__ import annotations

from germane.observe.traffic import Traffic

__all__ = ["Saturation"]


class Saturation:
    """`active` from the update in which the port is full, or refused more calls than it admitted since the last update;
    inactive again after `recovery` updates without either."""

    def __init__(self, recovery: int = 3) -> None:
        self._recovery = recovery
        self._calm_updates = recovery
        self._admitted = self._refused = 0

    @property
    def active(self) -> bool:
        return self._calm_updates < self._recovery

    def update(self, traffic: Traffic) -> None:
        """Takes the port's current traffic, whose totals are compared with those of the last update."""
        total_refused = traffic.refused.get("slots", 0)
        refused, admitted = total_refused - self._refused, traffic.admitted - self._admitted
        self._refused, self._admitted = total_refused, traffic.admitted
        self._calm_updates = 0 if traffic.full or refused > admitted else min(self._recovery, self._calm_updates + 1)
