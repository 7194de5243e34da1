"""Keyring: the public API for the API keys of a store (`Germane.keys`): create, list, revoke, verify."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.kinds.keys.plans import KeyRequest, issue, revoke
from germane.kinds.keys.reads import ListKeys
from germane.kinds.keys.value import Grant, Key, NewKey, Right, key_id
from germane.kinds.keys.verifier import Verifier
from germane.stores.contract import UnscopedStore
from germane.types.checks import check_text
from germane.types.limits import ID
from germane.types.scope import Scope

_MAX_PATIENCE = 86_400.0
"""Seconds; a longer patience is treated as one day."""


class Keyring:
    """For the operator of germane, not for callers with a key: it reaches the keys of every org in the store."""

    def __init__(self, store: UnscopedStore, verifier: Verifier, clock: Clock) -> None:
        self._store, self._verifier, self._clock = store, verifier, clock

    async def create(
        self,
        *,
        org: str,
        agents: Sequence[str] | None = None,
        rights: Sequence[Right] | None = None,
        lifetime: timedelta | None = None,
        note: str | None = None,
        replaces: str | None = None,
        overlap: timedelta = timedelta(days=1),
    ) -> NewKey:
        """Creates a key of `org` for these `agents` (default: all) and `rights` (default: read and write) that is valid for
        `lifetime` (default: until revoked). The result's `token` is the secret that callers send: it isn't stored and can't be
        shown again.

        `replaces` is the id of a key of the same org that stays valid for `overlap` and then ends; omitted options are copied
        from it. Raises `InvalidInput`, `NotFound` or `StoreUnavailable`.
        """
        if replaces is not None:
            check_text("replaces", replaces, ID)
        request = KeyRequest(org=org, agents=agents, rights=rights, lifetime=lifetime, note=note)
        plan = issue(request, replaces=replaces, overlap=overlap, at=self._clock.now(), randomness=secrets.token_bytes)
        try:
            return await self._store.commit(plan)
        finally:  # also where this call was cancelled: the commit may have happened
            self._verifier.forget(key_id(replaces) or "")

    async def list(self, org: str | None = None) -> tuple[Key, ...]:
        """Returns all keys, or those of one org, oldest first, expired and revoked keys included. Tokens aren't part of it."""
        return await self._store.ask(ListKeys(None if org is None else Scope(org=org).org))

    async def revoke(self, id: str) -> Key:
        """Revokes the key with this id (or this token) and returns it. The key becomes invalid at once in this process, and
        within a second in others. Idempotent. Raises `NotFound` or `StoreUnavailable`."""
        try:
            return await self._store.commit(revoke(check_text("id", id, ID), at=self._clock.now()))
        finally:
            self._verifier.forget(key_id(id) or "")

    async def verify(self, token: str, *, patience: float | None = 0.02) -> Grant | None:
        """Returns what the token allows, or None for a token that is unknown, malformed, expired or revoked; a caller can't
        tell these apart, by time either. The store is asked about a valid key at most once a second; a cache answers in
        between.

        `patience` is how many seconds the store may take (default 0.02). When it takes longer or fails, a key that the store
        confirmed within the last two minutes stays valid, and any other token raises `StoreUnavailable`. With 0 the cache
        answers at once and the store is asked in the background. With None only the store's answer counts, however long it
        takes: for requests that write.
        """
        if patience is not None and (isinstance(patience, bool) or not isinstance(patience, int | float) or not patience >= 0):
            raise InvalidInput("must be seconds, 0 or more, or None, not {}", patience, path="patience")
        return await self._verifier.verify(token, None if patience is None else float(min(patience, _MAX_PATIENCE)))
