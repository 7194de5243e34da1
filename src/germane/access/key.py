"""Key: an API key's properties (org, agents, rights, times), without its secret, which isn't stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

__all__ = ["RIGHTS", "Key", "KeyState", "NewKey", "Right", "StoredKey"]

Right = Literal["read", "write"]
"""`read` allows assemble, search and export; `write` allows remember, record, feedback, forget and directive."""
KeyState = Literal["active", "ending", "expired", "revoked"]
"""A key that is `ending` was replaced by another key and is valid until the overlap is over."""

RIGHTS: tuple[Right, ...] = ("read", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of one org (SCOPE-2). `agents` are the agents that it allows, None all agents of the org. `id` isn't secret: lists,
    logs and commands name the key by it. Times are in UTC; `last_used_at` is accurate to the hour."""

    id: str
    org: str
    agents: tuple[str, ...] | None = None
    rights: tuple[Right, ...] = RIGHTS
    note: str = ""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    replaced_by: str | None = None
    last_used_at: datetime | None = None

    def state(self, at: datetime) -> KeyState:
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= at:
            return "expired"
        return "active" if self.replaced_by is None else "ending"

    def holds(self, at: datetime) -> bool:
        """Whether the key is valid at `at`."""
        return self.state(at) in ("active", "ending")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A key with the SHA-256 digest of its token, as a store keeps it. The repr omits the digest."""

    key: Key
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new key with its token, which can't be read again later. The repr omits the token."""

    key: Key
    token: str = field(repr=False)
