"""Breakers: circuit breakers, and the guard around every call to the store, the embedder or a source.

A source that has failed several times in a row isn't called for a while, so that no answer waits for it:

    closed ──5 failures in a row──▶ open ──1 s──▶ half-open: one attempt ──success──▶ closed
                                     ▲                            └──failure──┐
                                     └────────────────────────────────────────┘

A source has three circuits: a common one, one for each org that has failures, and one for each key (org, agent, user) that
has failures. A success closes all three, a failure counts in all three. Of the five failures that open a circuit, one key
counts for two at most in its org's circuit, and in the common circuit one key counts for two and one org for three at most.
So:

- A damaged partition costs its own scope the source, and no other scope.
- An org whose keys all fail, however many users it has, costs only itself the source. The common circuit opens when two orgs
  or more have failed and no call has succeeded in between.
- A store that hangs is detected after five calls. If all five are of one org, that org's circuit opens; two failures of a
  second org then open the common circuit, and a third org doesn't wait at all.

Only failures of the store, the embedder and the sources count. `InvalidInput` is the request's fault and isn't reported as a
failure. A breaker calls nothing itself: an `Attempt` reports the result of a call (ENGINE-4). `Guard` makes the calls of one
assembly: by its breaker, with a time limit, and with a bound on abandoned tasks.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, NamedTuple

from germane.clock import Clock
from germane.engine.assembly import Late
from germane.errors import InvalidInput
from germane.stages.gather.gather import Abandoned
from germane.stages.gather.source import Skipped
from germane.types.caches import LruCache
from germane.types.scope import Scope

Condition = Literal["closed", "half-open", "open"]
_WORST_LAST: tuple[Condition, ...] = ("closed", "half-open", "open")
_REPORT_SECONDS = 60.0
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
                if own.opened is not None and now - own.opened < _REPORT_SECONDS:
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


_MIN_FAIR = 0.005
"""Seconds that a call must have had before a time-out counts as a failure: these calls read one row or one number."""


def breaker_key(scope: Scope) -> BreakerKey:
    """The circuit breaker's key of a scope: a partition, not a session."""
    return BreakerKey(scope.org, scope.agent, scope.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The guard of one assembly. `force` bypasses an open circuit: an assembly without a deadline can wait."""

    clock: Clock
    breakers: Breakers
    abandoned: Abandoned
    key: BreakerKey
    force: bool = False

    def start_attempt(self, name: str) -> Attempt:
        """Permission to call `name` once. The caller reports the outcome to the attempt, whatever happened. Raises `Skipped`,
        with the reason `shed` (too many abandoned calls of this name still run) or `breaker` (its circuit is open)."""
        if self.abandoned.sheds(name):
            raise Skipped("shed")
        attempt = self.breakers.start_attempt(name, self.key, self.clock.steady(), force=self.force)
        if attempt is None:
            raise Skipped("breaker")
        return attempt

    async def call(
        self,
        name: str,
        start: Callable[[], Coroutine[Any, Any, Any]],
        kind: type | tuple[type, ...],
        *,
        patience: float | None,
    ) -> Any:
        """Awaits `start()` for at most `patience` seconds (None: as long as it takes) and returns its result.

        Raises `BreakerOpen`, `Late` after `patience` seconds and for a call that cancels itself, `TypeError` for a result that
        isn't a `kind`, and what the call raises. An `InvalidInput` is the caller's fault and isn't reported as a failure.
        """
        try:
            attempt = self.start_attempt(name)
        except Skipped as skipped:
            raise BreakerOpen(str(skipped)) from None
        task = asyncio.ensure_future(_started(start))
        try:
            done, _ = await asyncio.wait([task], timeout=patience)
        except asyncio.CancelledError:
            self.abandoned.take(task, name)
            attempt.report(None, self.clock.steady())
            raise
        now = self.clock.steady()
        if not done:
            self.abandoned.take(task, name)
            attempt.report(None if patience is not None and patience < _MIN_FAIR else False, now, late=True)
            raise Late
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        failed = error is not None or not isinstance(task.result(), kind)
        attempt.report(None if isinstance(error, InvalidInput) else not failed, now)
        if task.cancelled():
            raise Late
        result = task.result()
        if failed:
            raise TypeError(f"{name}: {type(result).__name__}")
        return result


async def _started(start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """A task even where calling `start` raises."""
    return await start()
