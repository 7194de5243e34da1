"""Admission: from a call's metadata to a slot, and to what its key opens. Nothing of the call's request is read before.

A key that opened something before takes one of its org's slots while it is verified again. Keys that haven't been seen share a
few places of their own meanwhile, so that any number of wrong keys takes nothing from callers with good ones.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import sha256

import grpc

from germane.access.grant import Grant
from germane.access.key import Right
from germane.grpc.authentication import Keys, authenticated, presented, unauthenticated
from germane.grpc.loop_bridge import LoopBridge
from germane.grpc.places import Ousted
from germane.grpc.refusals import Refused
from germane.grpc.slots import Limits, Slots, exhausted

__all__ = ["Admission"]

_FAMILIAR = 4096
"""Keys that are remembered to have opened something, by their digests."""


class Admission:
    """`keys` None lets everybody in; they are asked at home. For the port's loop."""

    def __init__(self, *, keys: Keys | None, apart: LoopBridge, slots: Slots, limits: Limits) -> None:
        self._keys, self._apart, self._slots, self._limits = keys, apart, slots, limits
        self._familiar: OrderedDict[bytes, str] = OrderedDict()

    def possible(self, sent: Iterable[tuple[str, str | bytes]] | None) -> bool:
        """Whether there is a key, or none is asked for."""
        return self._keys is None or presented(sent) is not None

    async def admit(
        self, sent: Iterable[tuple[str, str | bytes]] | None, right: Right, peer: Callable[[], str]
    ) -> Grant | None:
        """What the caller's key opens; None where keys aren't asked for. Until the running task ends it has a slot. Raises
        `Refused` for a key that doesn't hold and where there is no slot, `StoreUnavailable` where the key can't be verified."""
        if (keys := self._keys) is None:
            self._hold(self._slots.take(None))
            return None
        token = presented(sent)
        if token is None:
            self._slots.note("unauthenticated")
            raise unauthenticated()
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        if (org := self._familiar.get(digest)) is not None:
            return await self._again(keys, token, digest, org, right)
        try:
            async with self._slots.verifying.place(self._limits.key_seconds, peer()):
                grant = await self._verified(keys, token, digest, right)
        except Ousted:
            self._slots.note("keys")
            raise exhausted("too many keys are being verified: try again") from None
        except TimeoutError:
            self._slots.note("unverified")
            raise Refused(grpc.StatusCode.UNAVAILABLE, "the key can't be verified now: try again") from None
        self._hold(self._slots.take(grant.org))
        return grant

    async def _again(self, keys: Keys, token: str, digest: bytes, org: str, right: Right) -> Grant:
        give_back = self._slots.take(org)
        try:
            grant = await self._verified(keys, token, digest, right)
        except BaseException:
            give_back()
            raise
        self._hold(give_back)
        return grant

    async def _verified(self, keys: Keys, token: str, digest: bytes, right: Right) -> Grant:
        try:
            grant = await self._apart.home(lambda: authenticated(keys, token, right))
        except Refused:
            self._familiar.pop(digest, None)
            self._slots.note("unauthenticated")
            raise
        except Exception:
            self._slots.note("unverified")
            raise
        self._familiar[digest] = grant.org
        self._familiar.move_to_end(digest)
        if len(self._familiar) > _FAMILIAR:
            self._familiar.popitem(last=False)
        return grant

    def _hold(self, give_back: Callable[[], None]) -> None:
        """gRPC sends the answer in the same task: as long as its caller doesn't take it, the slot is taken."""
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(lambda _: give_back())
