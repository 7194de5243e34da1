"""Revoke: a key opens nothing from now on. It stays in the list, so that it can be told what it was."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from germane.access.key import Key
from germane.access.operations import ChangeKey, KeyById
from germane.access.token import key_id
from germane.errors import NotFound
from germane.types.plan import Decision, Plan, read

__all__ = ["revoke"]


def revoke(id: str, *, at: datetime) -> Plan[Key]:
    """`id` is the key's, or the whole token. Again is fine, and changes nothing. The outcome is the key. Raises `NotFound`."""
    found = yield from read(KeyById(key_id(id) or ""))
    if found is None:
        raise NotFound("no key with this id (germane keys list shows ids)")
    if found.revoked_at is not None:
        return Decision((), found)
    revoked = replace(found, revoked_at=at)
    return Decision((ChangeKey(revoked),), revoked)
