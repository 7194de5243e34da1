"""Key: what is known of an API key: whose it is, what it opens, until when. Not the secret, which nobody keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

__all__ = ["RIGHTS", "Key", "KeyState", "NewKey", "Right", "StoredKey"]

Right = Literal["read", "write"]
"""`read`: assemble, search, export. `write`: remember, record, feedback, forget, directive."""
KeyState = Literal["active", "ending", "expired", "revoked"]
"""`ending`: another key has replaced it, and it holds until the overlap is over."""

RIGHTS: tuple[Right, ...] = ("read", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of one org (SCOPE-2). `agents` are those it opens, None for every agent of the org. `id` is no secret: it names
    the key in lists, logs and commands. Times are in UTC; `last_used_at` is right to the hour."""

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
        """Whether it opens anything at `at`."""
        return self.state(at) in ("active", "ending")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A key as it is stored: with the digest of its token, which is in no repr."""

    key: Key
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key just made, with its token: the only time that the token is known. It is in no repr."""

    key: Key
    token: str = field(repr=False)
