"""Circuit breaker: a source that has failed several times in a row isn't called for a while, so that no answer waits for it.

    closed ──5 failures in a row──▶ open ──1 s──▶ half-open: one attempt ──success──▶ closed
                                     ▲                            └──failure──┐
                                     └────────────────────────────────────────┘

A source has three circuits: a common one, one for each org that has failures, and one for each key (org, agent, user) that has.
A success closes all three, a failure counts in all three. Of the five failures that open a circuit, one key counts for two at
most in its org's circuit, and in the common circuit one key counts for two and one org for three at most. So:

- A damaged partition costs its own scope the source, and no other scope.
- An org whose keys all fail, however many users it has, costs only itself the source. The common circuit opens when two orgs or
  more have failed and no call has succeeded in between.
- Five calls find out a store that hangs. Where all five are of one org, that org's circuit opens; two failures of a second org
  then open the common circuit, and a third org doesn't wait at all.

Only failures of the store, the embedder and the sources count. `InvalidInput` is the request's fault and isn't reported as a
failure. The breaker doesn't call anything itself: an `Attempt` reports the result of a call (ENGINE-4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Literal, NamedTuple

from germane.types.lru_cache import LruCache

__all__ = ["Attempt", "BreakerKey", "BreakerOpen", "BreakerState", "Breakers", "Condition"]

Condition = Literal["closed", "half-open", "open"]
_WORST_LAST: tuple[Condition, ...] = ("closed", "half-open", "open")
_REPORTED = 60.0
"""Seconds after which the state no longer reports the open circuit of an org or a key that nobody has tried since."""


class BreakerOpen(Exception):
    """The circuit is open: the call isn't made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """`condition` is the worst of the source's circuits; `scopes` counts the orgs and keys whose own circuit isn't closed."""

    source: str
    condition: Condition = "closed"
    scopes: int = 0


class BreakerKey(NamedTuple):
    """Identifies the scope whose calls fail together: a partition, not a session."""

    org: str
    agent: str = ""
    user: str | None = None


class _Circuit:
    """`share` is how many of the failures that open the circuit may come from one key, `org_share` from one org."""

    __slots__ = ("failures", "keys", "opened", "org_share", "orgs", "probed", "share", "since")

    def __init__(self, share: int, org_share: int) -> None:
        self.share, self.org_share = share, org_share
        self.failures, self.since = 0, 0.0
        self.keys: Counter[BreakerKey] = Counter()
        self.orgs: Counter[str] = Counter()
        self.opened: float | None = None
        self.probed: float | None = None

    def condition(self, now: float, cool_down: float) -> Condition:
        if self.opened is None:
            return "closed"
        return "open" if now - self.opened < cool_down else "half-open"

    def close(self) -> None:
        if not self.failures and self.opened is None:
            return
        self.failures, self.opened, self.probed = 0, None, None
        self.keys.clear()
        self.orgs.clear()

    def open(self, now: float) -> None:
        self.close()
        self.opened = now

    def count(self, key: BreakerKey, now: float, enough: int) -> None:
        """Counts one more failure, unless its key or org has had its share or `enough` failures are counted already."""
        if not self.keys:
            self.since = now
        if self.failures < enough and self.keys[key] < self.share and self.orgs[key.org] < self.org_share:
            self.keys[key] += 1
            self.orgs[key.org] += 1
            self.failures += 1


class Attempt:
    """Permission for one call. The caller reports the result of the call, also when it was cancelled."""

    __slots__ = ("_breakers", "_key", "_name", "_probes", "_reported")

    def __init__(self, breakers: Breakers, name: str, key: BreakerKey, probes: tuple[_Circuit, ...]) -> None:
        self._breakers, self._name, self._key, self._probes = breakers, name, key, probes
        self._reported = False

    def report(self, succeeded: bool | None, now: float, *, late: bool = False) -> None:
        """`succeeded` None: the result is unknown (nothing to do, too little time, the caller went away). `late`: the call
        failed by a time-out. Idempotent: only the first report counts."""
        if not self._reported:
            self._reported = True
            self._breakers._learn(self._name, self._key, self._probes, succeeded, now, late=late)


class Breakers:
    """The circuit breakers of every source. Thread-safe. Bounded: of the orgs and keys with failures the least recently failed
    is evicted."""

    def __init__(
        self,
        *,
        failures: int = 5,
        share: int = 2,
        org_share: int = 3,
        lasting: float = 0.75,
        cool_down: float = 1.0,
        max_entries: int = 1024,
    ) -> None:
        """`failures` in a row open a circuit; in the common one at most `share` of them count for one key and `org_share` for
        one org. Time-outs alone open a circuit only where no call has succeeded for `lasting` seconds: a source near its time
        limit, or a busy machine, times out often, but not for everybody. An open circuit allows an attempt after `cool_down`
        seconds."""
        self._failures, self._share, self._org_share = failures, share, org_share
        self._lasting, self._cool_down = lasting, cool_down
        self._common: dict[str, _Circuit] = {}
        self._own: LruCache[tuple[str, Hashable], _Circuit] = LruCache(max_entries)
        """By source, and org or key."""
        self._lock = Lock()

    def start_attempt(self, name: str, key: BreakerKey, now: float, *, force: bool = False) -> Attempt | None:
        """An attempt to call source `name` for `key`; None while a circuit is open. `force` bypasses an open circuit."""
        with self._lock:
            circuits = (self._common.get(name), self._own.get((name, key.org)), self._own.get((name, key)))
            probes = tuple(circuit for circuit in circuits if circuit is not None and circuit.opened is not None)
            if not all(self._admits(circuit, now) for circuit in probes):
                return Attempt(self, name, key, ()) if force else None
            for circuit in probes:
                circuit.probed = now
            return Attempt(self, name, key, probes)

    def states(self, now: float) -> tuple[BreakerState, ...]:
        """Of every source called so far, by name. Orgs and keys count whose circuit opened within the last minute."""
        with self._lock:
            conditions = {name: [common.condition(now, self._cool_down)] for name, common in sorted(self._common.items())}
            for (name, _), own in self._own.items():
                if own.opened is not None and now - own.opened < _REPORTED:
                    conditions[name].append(own.condition(now, self._cool_down))
            return tuple(
                BreakerState(source=name, condition=max(seen, key=_WORST_LAST.index), scopes=len(seen) - 1)
                for name, seen in conditions.items()
            )

    def _admits(self, circuit: _Circuit, now: float) -> bool:
        """Half-open allows one attempt at a time. An attempt that never reports blocks the next for one cool-down."""
        if circuit.condition(now, self._cool_down) != "half-open":
            return False
        return circuit.probed is None or now - circuit.probed >= self._cool_down

    def _learn(
        self, name: str, key: BreakerKey, probes: tuple[_Circuit, ...], succeeded: bool | None, now: float, *, late: bool
    ) -> None:
        with self._lock:
            if succeeded is None:
                for circuit in probes:
                    circuit.probed = None
            elif succeeded:
                self._succeeded(name, key, probes)
            else:
                self._failed(name, key, probes, now, late=late)

    def _succeeded(self, name: str, key: BreakerKey, probes: tuple[_Circuit, ...]) -> None:
        entries = ((name, key.org), (name, key))
        for circuit in (self._circuit(name), *map(self._own.get, entries)):
            if circuit is not None and (circuit.opened is None or circuit in probes):
                circuit.close()
        for entry in entries:
            if entry in self._own and self._own[entry].opened is None:
                del self._own[entry]

    def _failed(self, name: str, key: BreakerKey, probes: tuple[_Circuit, ...], now: float, *, late: bool) -> None:
        common = self._circuit(name)
        org = self._get_or_add((name, key.org), share=self._share, org_share=self._failures)
        own = self._get_or_add((name, key), share=self._failures, org_share=self._failures)
        if common in probes:  # the org that tried in vain for everybody isn't the first to try the next time
            common.open(now)
            org.open(now + self._cool_down / 2)
        elif org in probes:
            org.open(now)
            own.open(now + self._cool_down / 2)
        elif own in probes:
            own.open(now)
        else:
            self._count(own, key, now, late=late)
            if self._count(org, key, now, late=late):
                self._forget(
                    entry
                    for entry in self._own
                    if entry[0] == name and isinstance(entry[1], BreakerKey) and entry[1].org == key.org
                )
            if self._count(common, key, now, late=late):
                self._forget(entry for entry in self._own if entry[0] == name)

    def _circuit(self, name: str) -> _Circuit:
        """A source's common circuit."""
        circuit = self._common.get(name)
        if circuit is None:
            circuit = self._common[name] = _Circuit(self._share, self._org_share)
        return circuit

    def _get_or_add(self, entry: tuple[str, Hashable], *, share: int, org_share: int) -> _Circuit:
        """The circuit of an org or a key, a new one where there is none yet."""
        circuit = self._own.get(entry) or _Circuit(share, org_share)
        self._own.put(entry, circuit)
        return circuit

    def _count(self, circuit: _Circuit, key: BreakerKey, now: float, *, late: bool) -> bool:
        """Returns whether this failure opened the circuit."""
        if circuit.opened is not None:
            return False
        circuit.count(key, now, self._failures)
        lasted = not late or now - circuit.since >= self._lasting
        if circuit.failures < self._failures or not lasted:
            return False
        circuit.open(now)
        return True

    def _forget(self, entries: Iterator[tuple[str, Hashable]]) -> None:
        for entry in list(entries):
            del self._own[entry]
