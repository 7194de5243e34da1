"""Nonce: the word that marks germane's own sections, stable in a session and unguessable (FORMAT-4).

The nonce carries no secret, and the model may see it. It only has to be a word that an author of stored content can't know
beforehand. Twelve lowercase letters hold 56 bits. Letters alone cost the fewest tokens over the vocabularies in use: 7.4 on
average with both o200k and Qwen's, where 60 bits in base 32 cost 8.5 to 8.9, and digits cost 7 with one and 19 with the other.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from string import ascii_lowercase

from germane.types.scope import Scope

__all__ = ["LENGTH", "nonce"]

LENGTH = 12
"""Letters of a nonce."""


@lru_cache(maxsize=1024)
def nonce(key: bytes, scope: Scope) -> str:
    """HMAC-SHA256 (RFC 2104) over org, agent, user and session, each preceded by its length, as twelve lowercase letters.

    Deterministic: equal in all workers that share `key`. Without a session the nonce belongs to the agent and user. An absent
    user or session gives another nonce than every present one.
    """
    digest = hmac.digest(key, b"".join(map(_framed, (scope.org, scope.agent, scope.user, scope.session))), "sha256")
    number, letters = int.from_bytes(digest, "big"), ""
    for _ in range(LENGTH):
        number, index = divmod(number, len(ascii_lowercase))
        letters += ascii_lowercase[index]
    return letters


def _framed(part: str | None) -> bytes:
    if part is None:
        return b"\xff" * 4
    raw = part.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(4, "big") + raw
