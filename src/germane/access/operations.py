"""Key operations: the reads and changes of plans about API keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from germane.access.key import Key, StoredKey
from germane.types.plan import Change, Read, TextOf

__all__ = ["AddKey", "ChangeKey", "KeyById"]


@dataclass(frozen=True, slots=True)
class KeyById(Read[Key | None]):
    """The key with this id, or None."""

    id: str


@dataclass(frozen=True, slots=True)
class AddKey(Change):
    """Inserts a key. Where its id exists already, the commit raises `Conflict` and nothing of the plan is written."""

    text_of: ClassVar[TextOf] = "somebody"
    stored: StoredKey


@dataclass(frozen=True, slots=True)
class ChangeKey(Change):
    """Replaces the properties of the key with this id; its digest stays. Does nothing where there is no such key."""

    text_of: ClassVar[TextOf] = "somebody"
    key: Key
