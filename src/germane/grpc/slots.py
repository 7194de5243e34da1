"""Slots: how many calls are under way at once, and whose they are. Counts alone: no I/O and no clock.

An org may take another slot as long as it holds fewer than are free. So one org by itself gets half of all slots, two get a
third each, and whoever comes next always finds as many free as each of the others holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import grpc

from germane.grpc.places import Places
from germane.grpc.refusals import Refused
from germane.observe.traffic import REASONS, Traffic

__all__ = ["Limits", "Slots", "exhausted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of the port may be taken, and for how long. Counts of calls; bytes; seconds."""

    calls: int = 2000
    """With a good key, or of any kind where keys aren't asked for. Too many assemblies are refused long before, by the engine,
    with an answer."""
    keys: int = 64
    """Whose key hasn't been seen before and is being verified."""
    health: int = 64
    """Watches of health without a key."""
    body_seconds: float = 10.0
    """Until the request of a call with a good key is there."""
    key_seconds: float = 5.0
    """Until a key that hasn't been seen before is verified."""
    watch_seconds: float = 300.0
    """Until a watch ends and has to be begun again."""
    reflection_seconds: float = 60.0


class Slots:
    """Of one port; for its event loop alone, but `traffic`, which may be read from any thread. `verifying` are the places of
    keys that haven't been seen before, `watching` those of watches without a key."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held: Counter[str] = Counter()
        self._calls = self._admitted = 0
        self._refused = dict.fromkeys(REASONS, 0)  # never another key: it is read from other threads
        self.verifying, self.watching = Places(limits.keys), Places(limits.health)

    def take(self, org: str | None) -> Callable[[], None]:
        """A slot for a call of `org` (None: keys aren't asked for). The answer gives it back, once. Raises `Refused`."""
        free = self._limits.calls - self._calls
        if free <= 0:
            self.note("slots")
            raise exhausted(f"{self._limits.calls} calls are under way, and no more are taken: try again")
        if org is not None and self._held[org] >= free:
            self.note("share")
            raise exhausted("the key's org has as many calls under way as there is room left: try again when some have ended")
        self._calls += 1
        self._admitted += 1
        if org is not None:
            self._held[org] += 1

        def give_back() -> None:
            self._calls -= 1
            if org is not None:
                self._held[org] -= 1
                if not self._held[org]:
                    del self._held[org]

        return give_back

    def note(self, reason: str) -> None:
        """Something was turned away."""
        self._refused[reason] += 1

    @property
    def traffic(self) -> Traffic:
        free, held = self._limits.calls - self._calls, list(self._held.values())
        return Traffic(
            used={"calls": self._calls, "keys": len(self.verifying), "health": len(self.watching)},
            refused=dict(self._refused),
            admitted=self._admitted,
            full=free <= 0 or bool(held and min(held) >= free),
        )


def exhausted(text: str) -> Refused:
    """There is no room for the call."""
    return Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
