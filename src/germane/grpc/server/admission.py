"""Admission: lets a call in by its metadata: verifies the key, takes a slot, and only then reads the request.

A key that was valid before takes a slot of its org first and is verified again while it holds it. Keys that haven't been
seen share a few places of their own while they are verified, so that any number of invalid keys takes nothing from valid
callers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic
from typing import Any, TypeAlias

import grpc
import grpc.aio

from germane.clock import Clock
from germane.grpc.server.authorisation import Keys, authenticate, presented_key, unauthenticated
from germane.grpc.server.port import LoopBridge
from germane.grpc.server.refusals import Refused, invalid
from germane.kinds.keys.value import Grant, Right
from germane.types.caches import LruCache
from germane.types.traffic import REASONS, Traffic

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

_MAX_KNOWN_KEYS = 4096
"""Digests of keys that were valid before."""


class Admission:
    """For the port's loop; keys are verified on the engine's. `keys` None disables authentication."""

    def __init__(self, *, keys: Keys | None, bridge: LoopBridge, slots: OrgSlots, limits: Limits) -> None:
        self._keys, self._bridge, self._slots, self._limits = keys, bridge, slots, limits
        self._known_keys: LruCache[bytes, str] = LruCache(_MAX_KNOWN_KEYS)  # a key's digest: its org

    def has_key(self, metadata: Iterable[tuple[str, str | bytes]] | None) -> bool:
        """Returns whether the metadata hold a key, valid or not; True where authentication is disabled."""
        return self._keys is None or presented_key(metadata) is not None

    async def admit(
        self, metadata: Iterable[tuple[str, str | bytes]] | None, right: Right, peer: Callable[[], str]
    ) -> Grant | None:
        """Returns what the caller's key allows, None where authentication is disabled. The call's slot is released when the
        running task ends.

        Raises `Refused` for an invalid key and where no slot is free, `StoreUnavailable` where the key can't be verified.
        """
        if (keys := self._keys) is None:
            self._release_at_end(self._slots.acquire(None))
            return None
        token = presented_key(metadata)
        if token is None:
            self._slots.count_refusal("unauthenticated")
            raise unauthenticated()
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        if (org := self._known_keys.get(digest)) is not None:
            return await self._verify_known(keys, token, digest, org, right)
        try:
            async with self._slots.verifying.place(self._limits.key_seconds, peer()):
                grant = await self._verify(keys, token, digest, right)
        except Evicted:
            self._slots.count_refusal("keys")
            raise exhausted("too many keys are being verified: try again") from None
        except TimeoutError:
            self._slots.count_refusal("unverified")
            raise Refused(grpc.StatusCode.UNAVAILABLE, "the key can't be verified now: try again") from None
        self._release_at_end(self._slots.acquire(grant.org))
        return grant

    async def read_request(self, context: Context) -> bytes:
        """Returns the bytes of an admitted call's request. Raises `Refused` where they don't come in time, or not at all."""
        limit, remaining = self._limits.body_seconds, context.time_remaining()
        ends_sooner = remaining is not None and remaining < limit  # then gRPC ends the call, and no timer is needed
        try:
            async with nullcontext() if ends_sooner else asyncio.timeout(limit):
                data = await context.read()
        except TimeoutError:
            self._slots.count_refusal("body")
            raise Refused(grpc.StatusCode.DEADLINE_EXCEEDED, f"the request didn't come within {limit:g} s") from None
        if not isinstance(data, bytes):  # gRPC's mark for the end of the stream
            raise invalid("the call ended without a request")
        return data

    async def _verify_known(self, keys: Keys, token: str, digest: bytes, org: str, right: Right) -> Grant:
        release = self._slots.acquire(org)
        try:
            grant = await self._verify(keys, token, digest, right)
        except BaseException:
            release()
            raise
        self._release_at_end(release)
        return grant

    async def _verify(self, keys: Keys, token: str, digest: bytes, right: Right) -> Grant:
        try:
            grant = await self._bridge.on_engine(lambda: authenticate(keys, token, right))
        except Refused:
            self._known_keys.pop(digest, None)
            self._slots.count_refusal("unauthenticated")
            raise
        except Exception:
            self._slots.count_refusal("unverified")
            raise
        self._known_keys.put(digest, grant.org)
        return grant

    def _release_at_end(self, release: Callable[[], None]) -> None:
        """gRPC sends the answer in the same task, so a caller that doesn't read its answer still holds its slot."""
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(lambda _: release())


# How many calls may run at once, shared fairly among the orgs, and the limits of the port. An org may take another slot
# as long as it holds fewer than are free. So one org alone gets half of all slots, two orgs get a third each, and a new
# org always finds as many free slots as each other org holds. The class only counts: no I/O, no clock.


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


# A small pool for calls without a verified key. When it is full, it evicts the oldest call of the busiest address. So
# calls that hold a place and do nothing can't keep other callers out, and one address can't take all places.


class Evicted(Exception):
    """A newer call took the place."""


class AnonymousSlots:
    """A pool of `max_places`. For one event loop; only its length may be read from any thread."""

    def __init__(self, max_places: int) -> None:
        self._max_places = max_places
        self._taken: dict[asyncio.Timeout, str] = {}  # oldest first, with the holder's address

    def __len__(self) -> int:
        return len(self._taken)

    @asynccontextmanager
    async def place(self, seconds: float, peer: str) -> AsyncIterator[None]:
        """Holds a place during the block, and evicts another holder where the pool is full.

        A wait inside the block raises `TimeoutError` after `seconds`, and `Evicted` when the place is taken away. `peer` is
        gRPC's name for the other end, such as `ipv4:127.0.0.1:4711`.
        """
        address, evicted = peer.rpartition(":")[0], False
        try:
            async with asyncio.timeout(seconds) as own:
                self._make_room(address)
                self._taken[own] = address
                try:
                    yield
                finally:
                    evicted = own not in self._taken
                    self._taken.pop(own, None)
        except TimeoutError:
            if evicted:
                raise Evicted from None
            raise

    def _make_room(self, address: str) -> None:
        if len(self._taken) < self._max_places:
            return
        ((busiest, _),) = Counter([*self._taken.values(), address]).most_common(1)
        candidates = [place for place, holder in self._taken.items() if holder == busiest] or list(self._taken)
        oldest = candidates[0]
        del self._taken[oldest]
        if not oldest.expired():
            oldest.reschedule(asyncio.get_running_loop().time())


# The rate limit on refusals, so that an org with invalid requests doesn't slow down the others. A refusal costs about a
# millisecond of processor time, and some callers send the next invalid request as soon as they have the answer. Each
# org gets a few refusals at once and then a steady rate; a large request counts for several. The class only computes
# delays; its caller waits.


_MAX_PACED_ORGS = 1024
_BYTES_PER_REFUSAL = 64 * 1024
"""Bytes of a request that cost as much time to receive and parse as one refusal."""


class RefusalPace:
    """A leaky bucket for each org. Bounded; evicts the org that was refused least recently."""

    def __init__(self, *, rate: float = 50.0, burst: int = 50, max_delay: float = 1.0) -> None:
        """`rate` is refusals a second after the first `burst`; no delay is longer than `max_delay` seconds."""
        self._interval, self._burst_seconds, self._max_delay = 1 / rate, burst / rate, max_delay
        self._free_at: LruCache[str, float] = LruCache(_MAX_PACED_ORGS)

    def delay(self, org: str, now: float, size: int = 0) -> float:
        """Counts a refusal of `org` and returns the seconds to wait before sending it.

        `now` is in seconds of a monotonic clock. Each 64 KiB of `size`, the request's bytes, count as one more refusal.
        """
        refusals = 1 + size // _BYTES_PER_REFUSAL
        free_at = max(self._free_at.get(org, 0.0), now - self._burst_seconds) + self._interval * refusals
        self._free_at.put(org, min(free_at, now + self._max_delay))
        return min(self._max_delay, max(0.0, free_at - now))


class Ports:
    """What the ports of one process share: the event loop that they run on, and whom they let in. `keys` None disables
    authentication. `clock.steady` is read in two threads. Made on the engine's loop."""

    def __init__(self, *, keys: Keys | None, limits: Limits | None = None, clock: Clock | None = None) -> None:
        self.keys, self.limits, self.clock = keys, limits or Limits(), clock or Clock(steady=monotonic)
        self.slots, self.pace, self.bridge = OrgSlots(self.limits), RefusalPace(), LoopBridge()
        self.admission = Admission(keys=keys, bridge=self.bridge, slots=self.slots, limits=self.limits)

    async def open(self) -> None:
        """Starts the ports' loop."""
        await self.bridge.open()

    async def close(self) -> None:
        """Cancels what still runs on the ports' loop, and ends it. Idempotent."""
        await self.bridge.close()
