"""Pseudonym: a keyed hash that stands for an id in the service's log, where the id itself must not appear.

It is keyed so that names can't be guessed by hashing candidates: that takes the key.
"""

from __future__ import annotations

from hashlib import blake2b

__all__ = ["pseudonym"]

_PURPOSE = b"germane log"
"""Separates these hashes from all others that are made with the same key (BLAKE2 personalisation)."""


def pseudonym(key: bytes, id: str) -> str:
    """Returns twelve hex digits, the same for the same key and id. `key` is a secret of 16 bytes or more."""
    own = blake2b(key, digest_size=32, person=_PURPOSE).digest()
    return blake2b(id.encode("utf-8", "surrogatepass"), digest_size=6, key=own, person=_PURPOSE).hexdigest()
