"""API keys as values: a key's properties, what a caller with a valid key may do, and the token `gk_<id>_<secret>`.

A store keeps the SHA-256 of a token. That is safe because the secret is 256 random bits, which can't be guessed at any
speed. Slow hashes (bcrypt, scrypt, Argon2) protect passwords that people choose; here they would add tens of milliseconds
to each call and let a flood of invalid tokens occupy the processor. A salt isn't needed because no two tokens are equal.
"""

from __future__ import annotations

import hmac
import re
from base64 import b32encode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b, sha256
from typing import Literal

from germane.types.operation import Right as Right

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


# The result of a verification.


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """`key` is the key's id, which isn't secret and may be logged. `agents` None allows every agent of `org`, an empty tuple
    allows none."""

    key: str
    org: str
    agents: tuple[str, ...] | None = None
    rights: tuple[Right, ...] = RIGHTS

    @classmethod
    def of(cls, key: Key) -> Grant:
        return cls(key=key.id, org=key.org, agents=key.agents, rights=key.rights)

    def allows(self, right: Right, *, org: str, agent: str) -> bool:
        """Whether the caller has `right` on `agent` of `org`. Callers of this method must answer each refusal in the same way,
        so that nobody learns which of the three was wrong or whether the agent exists (SCOPE-3)."""
        return org == self.org and right in self.rights and (self.agents is None or agent in self.agents)

    def allows_all(self, right: Right, *, org: str) -> bool:
        """Whether the caller has `right` on every agent of `org`. Refusals are answered as those of `allows`."""
        return org == self.org and right in self.rights and self.agents is None


# The secret text of a key: how one is made, parsed and compared.


_ID_BYTES, _SECRET_BYTES = 10, 32
"""Random bytes of an id, which must be unique, and of a secret, which must be impossible to guess."""
KEY_PREFIX = "gk_"
"""How the text of each key begins."""
_TOKEN = re.compile(r"gk_([a-z2-7]{16})_[a-z2-7]{52}")
_KEY_ID = re.compile(r"(?:gk_)?([a-z2-7]{16})(?:_[a-z2-7]{52})?")
_NO_ID = "-"
"""The id that is looked up for a text that isn't a token. No key has it."""
_NO_DIGEST = bytes(sha256().digest_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentedToken:
    """A token that a caller sent: the id to look up, and the digest to compare."""

    id: str
    digest: bytes = field(repr=False)

    def matches(self, stored: StoredKey | None) -> bool:
        """Whether this is the token of `stored`. Takes the same time for an unknown key (None) as for a wrong secret."""
        known = _NO_DIGEST if stored is None else stored.digest
        return hmac.compare_digest(self.digest, known) and stored is not None


def make_token(randomness: Callable[[int], bytes]) -> tuple[str, str]:
    """Returns the id and the token of a new key. `randomness(n)` returns n secret bytes. Both are lower-case base32, whose
    characters are hard to confuse."""
    id = _base32(randomness(_ID_BYTES))
    return id, f"gk_{id}_{_base32(randomness(_SECRET_BYTES))}"


def parse_token(token: object) -> PresentedToken:
    """Parses what a caller sent. A value that isn't a token is looked up like one, so that both take the same time."""
    text = token if isinstance(token, str) else ""
    found = _TOKEN.fullmatch(text)
    return PresentedToken(id=found[1] if found else _NO_ID, digest=sha256(text.encode() if found else b"").digest())


def key_id(text: object) -> str | None:
    """Returns the key id in `text`, which is an id or a whole token (such as a leaked one); None where it is neither."""
    found = _KEY_ID.fullmatch(text.strip()) if isinstance(text, str) else None
    return found[1] if found else None


def _base32(octets: bytes) -> str:
    return b32encode(octets).decode().rstrip("=").lower()


# What stands for an id in the service's log, where the id itself must not appear. The hash is keyed, so that names
# can't be guessed by hashing candidates: that takes the key.


_PURPOSE = b"germane log"
"""Separates these hashes from all others that are made with the same key (BLAKE2 personalisation)."""


def pseudonym(key: bytes, id: str) -> str:
    """Returns twelve hex digits, the same for the same key and id. `key` is a secret of 16 bytes or more."""
    own = blake2b(key, digest_size=32, person=_PURPOSE).digest()
    return blake2b(id.encode("utf-8", "surrogatepass"), digest_size=6, key=own, person=_PURPOSE).hexdigest()
