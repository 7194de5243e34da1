"""Keyring: the API keys of a store, as `germane.keys`: making, listing and revoking them, and asking whether one is good."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta

from germane.access.grant import Grant
from germane.access.issue import KeyRequest, issue
from germane.access.key import Key, NewKey, Right
from germane.access.key_store import KeyStore
from germane.access.revoke import revoke
from germane.access.token import key_id
from germane.access.verifier import Verifier
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.types.limits import ID, shown, text
from germane.types.scope import Scope

__all__ = ["Keyring"]

_DAY = timedelta(days=1)
_LONGEST = 86_400.0
"""Seconds of patience: longer ones are taken for a day."""


class Keyring:
    """For who runs germane, not for who holds a key: it reaches every org of the store."""

    def __init__(self, key_store: KeyStore, verifier: Verifier, clock: Clock) -> None:
        self._key_store, self._verifier, self._clock = key_store, verifier, clock

    async def create(
        self,
        *,
        org: str,
        agents: Sequence[str] | None = None,
        rights: Sequence[Right] | None = None,
        lifetime: timedelta | None = None,
        note: str | None = None,
        replaces: str | None = None,
        overlap: timedelta = _DAY,
    ) -> NewKey:
        """A key of `org` for these `agents` (default: all of them) and `rights` (default: both), for as long as `lifetime`
        (default: until revoked). The answer's `token` is the key itself: it is stored nowhere and can't be had again.

        `replaces` is the id of a key of the org that goes on for `overlap` and then ends; what isn't said is taken over from
        it. Raises `InvalidInput`, `NotFound` or `StoreUnavailable`.
        """
        if replaces is not None:
            text("replaces", replaces, ID)
        wanted = KeyRequest(org=org, agents=agents, rights=rights, lifetime=lifetime, note=note)
        plan = issue(wanted, replaces=replaces, overlap=overlap, at=self._clock.now(), randomness=secrets.token_bytes)
        try:
            return await self._key_store.commit(plan)
        finally:  # also when nobody waits for it any more: it may have been done
            self._verifier.forget(key_id(replaces) or "")

    async def list(self, org: str | None = None) -> tuple[Key, ...]:
        """All keys, or those of one org, oldest first, ended ones included. Never their secrets."""
        return await self._key_store.list(None if org is None else Scope(org=org).org)

    async def revoke(self, id: str) -> Key:
        """The key with this id (or this token) opens nothing any more: here at once, in other processes within a second. Again
        is fine. Raises `NotFound` or `StoreUnavailable`."""
        try:
            return await self._key_store.commit(revoke(text("id", id, ID), at=self._clock.now()))
        finally:
            self._verifier.forget(key_id(id) or "")

    async def verify(self, token: str, *, patience: float | None = 0.02) -> Grant | None:
        """What the key opens; None for one that is unknown, malformed, expired or revoked, which take the same way and look the
        same. A good key is asked about once a second; in between memory answers.

        The store is given `patience` seconds (0.02). When it doesn't answer in time, or fails, a key it vouched for within the
        last two minutes goes on, from memory and at once as long as the store hangs; any other raises `StoreUnavailable`.
        With 0 memory answers at once, and the store is asked behind it. With `patience=None` only the store's word counts,
        however long it takes: for what is about to write.
        """
        if patience is not None and (isinstance(patience, bool) or not isinstance(patience, int | float) or not patience >= 0):
            raise InvalidInput(f"patience must be seconds, 0 or more, or None, not {shown(patience)}")
        return await self._verifier.verify(token, None if patience is None else float(min(patience, _LONGEST)))
