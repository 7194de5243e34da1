"""Ledger: what plans about keys read, and what they write."""

from __future__ import annotations

from dataclasses import dataclass

from germane.access.key import Key, StoredKey
from germane.types.plan import Change, Read

__all__ = ["AddKey", "ChangeKey", "KeyById"]


@dataclass(frozen=True, slots=True)
class KeyById(Read[Key | None]):
    id: str


@dataclass(frozen=True, slots=True)
class AddKey(Change):
    """A key with an id that there isn't yet; else nothing of the plan is written (`Conflict`)."""

    stored: StoredKey


@dataclass(frozen=True, slots=True)
class ChangeKey(Change):
    """What is known of the key with this id, anew; its digest stays. One that isn't there is passed over."""

    key: Key
