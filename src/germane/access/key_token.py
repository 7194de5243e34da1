"""Key token: the secret text of a key, `gk_<id>_<secret>`: how one is made, parsed and compared.

A store keeps the SHA-256 of a token. That is safe because the secret is 256 random bits, which can't be guessed at any speed.
Slow hashes (bcrypt, scrypt, Argon2) protect passwords that people choose; here they would add tens of milliseconds to each
call and let a flood of invalid tokens occupy the processor. A salt isn't needed because no two tokens are equal.
"""

from __future__ import annotations

import hmac
import re
from base64 import b32encode
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from germane.access.key import StoredKey

__all__ = ["Presented", "key_id", "mint", "presented"]

_ID, _SECRET = 10, 32
"""Random bytes of an id, which must be unique, and of a secret, which must be impossible to guess."""
_TOKEN = re.compile(r"gk_([a-z2-7]{16})_[a-z2-7]{52}")
_KEY_ID = re.compile(r"(?:gk_)?([a-z2-7]{16})(?:_[a-z2-7]{52})?")
_NO_ID = "-"
"""The id that is looked up for a text that isn't a token. No key has it."""
_NO_DIGEST = bytes(sha256().digest_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Presented:
    """A token that a caller sent: the id to look up, and the digest to compare."""

    id: str
    digest: bytes = field(repr=False)

    def matches(self, stored: StoredKey | None) -> bool:
        """Whether this is the token of `stored`. Takes the same time for an unknown key (None) as for a wrong secret."""
        known = _NO_DIGEST if stored is None else stored.digest
        return hmac.compare_digest(self.digest, known) and stored is not None


def mint(randomness: Callable[[int], bytes]) -> tuple[str, str]:
    """Returns the id and the token of a new key. `randomness(n)` returns n secret bytes. Both are lower-case base32, whose
    characters are hard to confuse."""
    id = _spelt(randomness(_ID))
    return id, f"gk_{id}_{_spelt(randomness(_SECRET))}"


def presented(token: object) -> Presented:
    """Parses what a caller sent. A value that isn't a token is looked up like one, so that both take the same time."""
    text = token if isinstance(token, str) else ""
    found = _TOKEN.fullmatch(text)
    return Presented(id=found[1] if found else _NO_ID, digest=sha256(text.encode() if found else b"").digest())


def key_id(text: object) -> str | None:
    """Returns the key id in `text`, which is an id or a whole token (such as a leaked one); None where it is neither."""
    found = _KEY_ID.fullmatch(text.strip()) if isinstance(text, str) else None
    return found[1] if found else None


def _spelt(octets: bytes) -> str:
    return b32encode(octets).decode().rstrip("=").lower()
