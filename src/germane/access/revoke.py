"""Revoke: the plan that makes a key invalid; the revoked key stays in the list."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from germane.access.key import Key
from germane.access.key_token import key_id
from germane.access.operations import ChangeKey, KeyById
from germane.errors import NotFound
from germane.types.plan import Decision, Plan, read

__all__ = ["revoke"]


def revoke(id: str, *, at: datetime) -> Plan[Key]:
    """Revokes the key with this id; `id` may also be the whole token. The outcome is the revoked key. Idempotent. Raises
    `NotFound`."""
    key = yield from read(KeyById(key_id(id) or ""))
    if key is None:
        raise NotFound("no key with this id (germane keys list shows ids)")
    if key.revoked_at is not None:
        return Decision((), key)
    revoked = replace(key, revoked_at=at)
    return Decision((ChangeKey(revoked),), revoked)
