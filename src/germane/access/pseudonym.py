"""Pseudonym: what stands for an id where the id itself may not be told, in the service's log. It is keyed: without the key
nobody can try names until one fits.
"""

from __future__ import annotations

from hashlib import blake2b

__all__ = ["pseudonym"]

_PURPOSE = b"germane log"
"""So that what is made from the key for another purpose never is the same."""


def pseudonym(key: bytes, id: str) -> str:
    """Twelve hex digits, the same for the same key and id. `key` is a secret of at least 16 bytes, of any length."""
    own = blake2b(key, digest_size=32, person=_PURPOSE).digest()
    return blake2b(id.encode("utf-8", "surrogatepass"), digest_size=6, key=own, person=_PURPOSE).hexdigest()
