"""Breaker: what has failed again and again isn't asked for a while, so that it costs nobody his time (ENGINE-4).

    closed ──5 failures in a row──▶ open ──1 s──▶ half-open: one may try ──it answers──▶ closed
                                     ▲                            └──it fails──┐
                                     └─────────────────────────────────────────┘

A source has three circuits: one for everybody, one for each org that is having trouble, and one for each place (org, agent,
user) that is. A success closes all three, a failure counts in all three. Of the five failures that open a circuit, no place
counts for more than two in its org's, and in everybody's no place for more than two and no org for more than three. So:

- A damaged partition costs its own scope the source, and no other's.
- An org whose places all fail, however many users it makes up, costs itself the source. Everybody's circuit opens only when two
  orgs or more have failed and nobody has had an answer in between.
- A store that hangs is found out by the first five who ask, also where all of them are of one org: then the org's circuit is
  everybody's. An org that comes later finds it out by two failures, the third by none.

Only failures of the store, the embedder or the source itself are told here. A request that can't be answered because of what is
in it (`InvalidInput`) says nothing of whoever was asked. The breakers know nothing of sources: they are told how each try went.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Literal, NamedTuple

__all__ = ["Attempt", "BreakerOpen", "BreakerState", "Breakers", "Condition", "Place"]

Condition = Literal["closed", "half-open", "open"]
_WORSE: tuple[Condition, ...] = ("closed", "half-open", "open")
_HEARD_OF = 60.0
"""Seconds after which a scope's own circuit, that nobody has tried since, is no news any more."""


class BreakerOpen(Exception):
    """It isn't asked for now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """`condition` is the worst of everybody's circuit, the orgs' and the places' own; `scopes` counts the orgs and places whose
    own isn't closed."""

    source: str
    condition: Condition = "closed"
    scopes: int = 0


class Place(NamedTuple):
    """Whose trouble it is when a source fails: one partition's, not one session's."""

    org: str
    agent: str = ""
    user: str | None = None


class _Circuit:
    """`share` is how many of the failures that open it one place may be the cause of, `org_share` one org."""

    __slots__ = ("failures", "opened", "org_share", "orgs", "places", "probed", "share", "since")

    def __init__(self, share: int, org_share: int) -> None:
        self.share, self.org_share = share, org_share
        self.failures, self.since = 0, 0.0
        self.places: Counter[Place] = Counter()
        self.orgs: Counter[str] = Counter()
        self.opened: float | None = None
        self.probed: float | None = None

    def condition(self, now: float, cool_down: float) -> Condition:
        if self.opened is None:
            return "closed"
        return "open" if now - self.opened < cool_down else "half-open"

    def close(self) -> None:
        self.failures, self.opened, self.probed = 0, None, None
        self.places.clear()
        self.orgs.clear()

    def open(self, now: float) -> None:
        self.close()
        self.opened = now

    def count(self, place: Place, now: float, enough: int) -> None:
        """One more failure; `failures` are those that count, of which no more than `enough` are remembered."""
        if not self.places:
            self.since = now
        if self.failures < enough and self.places[place] < self.share and self.orgs[place.org] < self.org_share:
            self.places[place] += 1
            self.orgs[place.org] += 1
            self.failures += 1


class Attempt:
    """Permission to call a source once. The caller must report the result, whatever happened."""

    __slots__ = ("_breakers", "_name", "_place", "_probes", "_reported")

    def __init__(self, breakers: Breakers, name: str, place: Place, probes: tuple[_Circuit, ...]) -> None:
        self._breakers, self._name, self._place, self._probes = breakers, name, place, probes
        self._reported = False

    def report(self, succeeded: bool | None, now: float, *, late: bool = False) -> None:
        """`succeeded` is None where the attempt says nothing about the source: it had nothing to do, too little time, or its
        caller went away. `late` marks a failure by time-out. Only the first report counts."""
        if not self._reported:
            self._reported = True
            self._breakers._record(self._name, self._place, self._probes, succeeded, now, late=late)


class Breakers:
    """Callable from several event loops. Bounded: of the orgs and places in trouble the one heard of least lately is forgotten
    first."""

    def __init__(
        self,
        *,
        failures: int = 5,
        share: int = 2,
        org_share: int = 3,
        lasting: float = 0.75,
        cool_down: float = 1.0,
        most: int = 1024,
    ) -> None:
        """`failures` in a row open a circuit, of which one place may be the cause of `share`, one org of `org_share` (in
        everybody's). Time-outs open it only where nobody had an answer for `lasting` seconds: a source at the edge of its time,
        or a machine with too much to do, is late again and again, but not for all. Seconds of `cool_down`."""
        self._failures, self._share, self._org_share = failures, share, org_share
        self._lasting, self._cool_down, self._most = lasting, cool_down, most
        self._common: dict[str, _Circuit] = {}
        self._own: OrderedDict[tuple[str, Hashable], _Circuit] = OrderedDict()
        """By source, and org or place."""
        self._lock = Lock()

    def start_attempt(self, name: str, place: Place, now: float, *, force: bool = False) -> Attempt | None:
        """An attempt to call source `name` for `place`; None while a circuit is open. `force` bypasses an open circuit."""
        with self._lock:
            circuits = (self._common.get(name), self._own.get((name, place.org)), self._own.get((name, place)))
            probes = tuple(one for one in circuits if one is not None and one.opened is not None)
            if not all(self._admits(one, now) for one in probes):
                return Attempt(self, name, place, ()) if force else None
            for probe in probes:
                probe.probed = now
            return Attempt(self, name, place, probes)

    def states(self, now: float) -> tuple[BreakerState, ...]:
        """Of every source that was asked so far, by name; of orgs and places those in trouble within the last minute."""
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

    def _record(
        self, name: str, place: Place, probes: tuple[_Circuit, ...], succeeded: bool | None, now: float, *, late: bool
    ) -> None:
        with self._lock:
            if succeeded is None:
                for probe in probes:
                    probe.probed = None
            elif succeeded:
                self._succeeded(name, place, probes)
            else:
                self._failed(name, place, probes, now, late=late)
            while len(self._own) > self._most:
                self._own.popitem(last=False)

    def _succeeded(self, name: str, place: Place, probes: tuple[_Circuit, ...]) -> None:
        circuits = (
            self._common.setdefault(name, self._circuit()),
            self._own.get((name, place.org)),
            self._own.get((name, place)),
        )
        for one in circuits:
            if one is not None and (one.opened is None or one in probes):
                one.close()
        for key in ((name, place.org), (name, place)):
            if key in self._own and self._own[key].opened is None:
                del self._own[key]

    def _failed(self, name: str, place: Place, probes: tuple[_Circuit, ...], now: float, *, late: bool) -> None:
        common = self._common.setdefault(name, self._circuit())
        org = self._kept((name, place.org), self._failures)
        own = self._kept((name, place), self._failures, self._failures)
        if common in probes:  # who tried in vain for all comes after the others the next time
            common.open(now)
            org.open(now + self._cool_down / 2)
        elif org in probes:
            org.open(now)
            own.open(now + self._cool_down / 2)
        elif own in probes:
            own.open(now)
        else:
            self._count(own, place, now, late=late)
            if self._count(org, place, now, late=late):
                self._forget(
                    key for key in self._own if key[0] == name and isinstance(key[1], Place) and key[1].org == place.org
                )
            if self._count(common, place, now, late=late):
                self._forget(key for key in self._own if key[0] == name)

    def _circuit(self) -> _Circuit:
        """Everybody's."""
        return _Circuit(self._share, self._org_share)

    def _kept(self, key: tuple[str, Hashable], org_share: int, share: int | None = None) -> _Circuit:
        """An org's or a place's, made when there is none yet."""
        if key not in self._own:
            self._own[key] = _Circuit(self._share if share is None else share, org_share)
        self._own.move_to_end(key)
        return self._own[key]

    def _count(self, circuit: _Circuit, place: Place, now: float, *, late: bool) -> bool:
        """Whether this failure opened it."""
        if circuit.opened is not None:
            return False
        circuit.count(place, now, self._failures)
        lasted = not late or now - circuit.since >= self._lasting
        if circuit.failures < self._failures or not lasted:
            return False
        circuit.open(now)
        return True

    def _forget(self, keys: Iterator[tuple[str, Hashable]]) -> None:
        for key in list(keys):
            del self._own[key]
