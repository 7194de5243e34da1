"""Org slots: how many calls may run at once, shared fairly among the orgs; also the limits of the port.

An org may take another slot as long as it holds fewer than are free. So one org alone gets half of all slots, two orgs get a
third each, and a new org always finds as many free slots as each other org holds. The class only counts: no I/O, no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import grpc

from germane.grpc.anonymous_slots import AnonymousSlots
from germane.grpc.refusals import Refused
from germane.observe.traffic import REASONS, Traffic

__all__ = ["Limits", "OrgSlots", "exhausted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the port lets in, and for how long: numbers of calls, and seconds."""

    calls: int = 2000
    """Calls with a valid key; all calls where authentication is disabled. The engine refuses assemblies long before, with an
    answer."""
    keys: int = 64
    """Calls whose key hasn't been seen before and is being verified."""
    health: int = 64
    """Health watches without a key."""
    body_seconds: float = 10.0
    """Until the request of a call with a valid key must have come."""
    key_seconds: float = 5.0
    """Until a key that hasn't been seen before must be verified."""
    watch_seconds: float = 300.0
    """Until a health watch is ended; its client begins a new one."""
    reflection_seconds: float = 60.0
    """Until a reflection call is ended."""


class OrgSlots:
    """The slots of one port. For its event loop; only `traffic` may be read from any thread.

    `verifying` are the places of keys that haven't been seen before, `watching` those of health watches without a key.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held: Counter[str] = Counter()
        self._calls = self._admitted = 0
        self._refused = dict.fromkeys(REASONS, 0)  # never gets another key, since other threads read it
        self.verifying, self.watching = AnonymousSlots(limits.keys), AnonymousSlots(limits.health)

    def acquire(self, org: str | None) -> Callable[[], None]:
        """Takes a slot for a call of `org`, None where authentication is disabled. Returns the function that releases the slot,
        which must be called once. Raises `Refused` where no slot is free, or the org holds as many as are free."""
        free = self._limits.calls - self._calls
        if free <= 0:
            self.count_refusal("slots")
            raise exhausted(f"{self._limits.calls} calls are under way, and no more are taken: try again")
        if org is not None and self._held[org] >= free:
            self.count_refusal("share")
            raise exhausted("the key's org has as many calls under way as there is room left: try again when some have ended")
        self._calls += 1
        self._admitted += 1
        if org is not None:
            self._held[org] += 1

        def release() -> None:
            self._calls -= 1
            if org is not None:
                self._held[org] -= 1
                if not self._held[org]:
                    del self._held[org]

        return release

    def count_refusal(self, reason: str) -> None:
        """Counts a call that wasn't let in; `reason` is one of `REASONS`."""
        self._refused[reason] += 1

    @property
    def traffic(self) -> Traffic:
        """The counts for metrics. Thread-safe."""
        free, held = self._limits.calls - self._calls, list(self._held.values())
        return Traffic(
            used={"calls": self._calls, "keys": len(self.verifying), "health": len(self.watching)},
            refused=dict(self._refused),
            admitted=self._admitted,
            full=free <= 0 or bool(held and min(held) >= free),
        )


def exhausted(text: str) -> Refused:
    """Returns the error for a call that there is no room for."""
    return Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
