"""Token: the secret text of a key, `gk_<id>_<secret>`, and the only two things done with it: making one, reading one.

What is kept of a token is its SHA-256, and that is enough: the secret is 256 bits from the system's randomness, so there is
nothing to guess at any speed. Slow hashes such as bcrypt, scrypt or Argon2 buy time for passwords that people choose; here
they would protect nothing, and would cost tens of milliseconds of every call and hand a flood of bad keys the processor.
No salt either: no two tokens are alike.
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
"""Bytes of randomness: an id must be unlike every other, a secret beyond guessing."""
_TOKEN = re.compile(r"gk_([a-z2-7]{16})_[a-z2-7]{52}")
_KEY_ID = re.compile(r"(?:gk_)?([a-z2-7]{16})(?:_[a-z2-7]{52})?")
_NO_ID = "-"
"""What is looked up for a text that is no token: no key has this id."""
_NO_DIGEST = bytes(sha256().digest_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Presented:
    """What a caller showed: the id to look up, and the digest to compare."""

    id: str
    digest: bytes = field(repr=False)

    def matches(self, stored: StoredKey | None) -> bool:
        """Whether this is the token that `sealed` was made of. As long for a key that there isn't as for a wrong secret."""
        known = _NO_DIGEST if stored is None else stored.digest
        return hmac.compare_digest(self.digest, known) and stored is not None


def mint(randomness: Callable[[int], bytes]) -> tuple[str, str]:
    """The id and the token of a new key; `randomness(n)` gives n secret bytes. Lower case, no character to mistake."""
    id = _spelt(randomness(_ID))
    return id, f"gk_{id}_{_spelt(randomness(_SECRET))}"


def presented(token: object) -> Presented:
    """Whatever a caller showed. Text that is no token is looked up like one, so that the two can't be told apart."""
    text = token if isinstance(token, str) else ""
    found = _TOKEN.fullmatch(text)
    return Presented(id=found[1] if found else _NO_ID, digest=sha256(text.encode() if found else b"").digest())


def key_id(text: object) -> str | None:
    """The id in `text`, which is one or is a whole token, for who has a leaked key at hand; None where there is none."""
    found = _KEY_ID.fullmatch(text.strip()) if isinstance(text, str) else None
    return found[1] if found else None


def _spelt(octets: bytes) -> str:
    return b32encode(octets).decode().rstrip("=").lower()
