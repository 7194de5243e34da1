"""Breaker: what has failed again and again isn't asked for a while, so that it costs nobody his time (ENGINE-4).

    closed ──5 failures in a row──▶ open ──1 s──▶ half-open: one may try ──it answers──▶ closed
                                     ▲                            └──it fails──┐
                                     └─────────────────────────────────────────┘

One circuit a source for everybody, and one a source and place (org, agent, user) that is having trouble. A place's failures
open its own circuit; everybody's opens when failures of several places follow one another and nobody has had an answer in
between. So a damaged partition costs its own scope the source and no other's, and a store that hangs is found out by the first
few, whoever they are. It knows nothing of sources: it is told how each try went.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Literal

__all__ = ["BreakerOpen", "BreakerState", "Breakers", "Condition", "Try"]

Condition = Literal["closed", "half-open", "open"]
_WORSE: tuple[Condition, ...] = ("closed", "half-open", "open")
_HEARD_OF = 60.0
"""Seconds after which a scope's own circuit, that nobody has tried since, is no news any more."""


class BreakerOpen(Exception):
    """It isn't asked for now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """`condition` is the worst of everybody's circuit and the scopes' own; `scopes` counts those whose own isn't closed."""

    source: str
    condition: Condition = "closed"
    scopes: int = 0


class _Circuit:
    __slots__ = ("failures", "opened", "places", "probed", "since")

    def __init__(self) -> None:
        self.failures, self.since = 0, 0.0
        self.places: set[Hashable] = set()
        self.opened: float | None = None
        self.probed: float | None = None

    def condition(self, now: float, cool_down: float) -> Condition:
        if self.opened is None:
            return "closed"
        return "open" if now - self.opened < cool_down else "half-open"

    def close(self) -> None:
        self.failures, self.opened, self.probed = 0, None, None
        self.places.clear()

    def open(self, now: float) -> None:
        self.close()
        self.opened = now


class Try:
    """Leave to ask once. To be told how it went, whatever happened."""

    __slots__ = ("_breakers", "_name", "_place", "_probes", "_told")

    def __init__(self, breakers: Breakers, name: str, place: Hashable, probes: tuple[_Circuit, ...]) -> None:
        self._breakers, self._name, self._place, self._probes = breakers, name, place, probes
        self._told = False

    def tell(self, fine: bool | None, now: float, *, late: bool = False) -> None:
        """`fine`: it answered. None: that can't be said (it had nothing to do, or no time, or its caller went away). `late`: it
        failed by not answering in time. Only the first telling counts."""
        if not self._told:
            self._told = True
            self._breakers._learn(self._name, self._place, self._probes, fine, now, late=late)


class Breakers:
    """Callable from several event loops. Bounded: of the places in trouble the one heard of least lately is forgotten first."""

    def __init__(
        self, *, failures: int = 5, lasting: float = 0.75, places: int = 3, cool_down: float = 1.0, most: int = 1024
    ) -> None:
        """`failures` in a row open a circuit, everybody's when they are of `places` or more; time-outs only where nobody had an
        answer for `lasting` seconds: a source at the edge of its time, or a machine with too much to do, is late again and
        again, but not for all. Seconds of `cool_down`."""
        self._failures, self._places, self._cool_down, self._most = failures, places, cool_down, most
        self._lasting = lasting
        self._common: dict[str, _Circuit] = {}
        self._own: OrderedDict[tuple[str, Hashable], _Circuit] = OrderedDict()
        self._lock = Lock()

    def ask(self, name: str, place: Hashable, now: float, *, insisting: bool = False) -> Try | None:
        """Leave to ask `name` for `place`; None while it isn't to be asked. Who insists always may."""
        with self._lock:
            circuits = [one for one in (self._common.get(name), self._own.get((name, place))) if one is not None]
            probes = tuple(one for one in circuits if one.opened is not None)
            if not all(self._admits(one, now) for one in probes):
                return Try(self, name, place, ()) if insisting else None
            for probe in probes:
                probe.probed = now
            return Try(self, name, place, probes)

    def states(self, now: float) -> tuple[BreakerState, ...]:
        """Of every source that was asked so far, by name; of scopes those in trouble within the last minute."""
        with self._lock:
            found = {name: [one.condition(now, self._cool_down)] for name, one in sorted(self._common.items())}
            for (name, _), one in self._own.items():
                if one.opened is not None and now - one.opened < _HEARD_OF:
                    found[name].append(one.condition(now, self._cool_down))
            return tuple(
                BreakerState(source=name, condition=max(seen, key=_WORSE.index), scopes=len(seen) - 1)
                for name, seen in found.items()
            )

    def _admits(self, circuit: _Circuit, now: float) -> bool:
        """One probe at a time; one that was never told of holds its place no longer than the circuit cools down."""
        if circuit.condition(now, self._cool_down) != "half-open":
            return False
        return circuit.probed is None or now - circuit.probed >= self._cool_down

    def _learn(
        self, name: str, place: Hashable, probes: tuple[_Circuit, ...], fine: bool | None, now: float, *, late: bool
    ) -> None:
        with self._lock:
            if fine is None:
                for probe in probes:
                    probe.probed = None
                return
            common = self._common.setdefault(name, _Circuit())
            own = self._own.get((name, place))
            if fine:
                for each in (common, own):
                    if each is not None and (each.opened is None or each in probes):
                        each.close()
                if own is not None and own.opened is None:
                    del self._own[name, place]
                return
            if own is None:
                own = self._own[name, place] = _Circuit()
            self._own.move_to_end((name, place))
            if common in probes:  # who tried in vain for all comes after the others the next time
                common.open(now)
                own.open(now + self._cool_down / 2)
            else:
                self._count(own, 1, place, now, late=late, probing=own in probes)
                self._count(common, self._places, place, now, late=late, probing=False)
                if common.opened is not None:
                    for key in [key for key in self._own if key[0] == name]:
                        del self._own[key]
            while len(self._own) > self._most:
                self._own.popitem(last=False)

    def _count(self, circuit: _Circuit, least: int, place: Hashable, now: float, *, late: bool, probing: bool) -> None:
        if probing:
            circuit.open(now)
        elif circuit.opened is None:
            circuit.since = circuit.since if circuit.failures else now
            circuit.failures += 1
            circuit.places.add(place)
            lasted = not late or now - circuit.since >= self._lasting
            if circuit.failures >= self._failures and len(circuit.places) >= least and lasted:
                circuit.open(now)
