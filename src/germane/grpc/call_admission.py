"""Call admission: lets a call in by its metadata: verifies the key, takes a slot, and only then reads the request.

A key that was valid before takes a slot of its org first and is verified again while it holds it. Keys that haven't been seen
share a few places of their own while they are verified, so that any number of invalid keys takes nothing from valid callers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from hashlib import sha256
from typing import Any, TypeAlias

import grpc
import grpc.aio

from germane.access.grant import Grant
from germane.access.key import Right
from germane.grpc.anonymous_slots import Evicted
from germane.grpc.authentication import Keys, authenticate, presented_key, unauthenticated
from germane.grpc.loop_bridge import LoopBridge
from germane.grpc.org_slots import Limits, OrgSlots, exhausted
from germane.grpc.refusals import Refused, invalid
from germane.types.lru_cache import LruCache

__all__ = ["Admission"]

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
