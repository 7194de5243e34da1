"""Nonce: the word that marks germane's own sections, stable within a session and unguessable from outside (FORMAT-4).

It carries no secret and needs no secrecy from the model; it only has to be a word that nobody who writes content can know
beforehand. Twelve lowercase letters hold 56 bits, and letters alone cost least over the vocabularies in use: 7.4 tokens on
average with o200k and Qwen's alike, where 60 bits in base 32 cost 8.5 to 8.9, and digits 7 with one and 19 with the other.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from string import ascii_lowercase

from germane.types.scope import Scope

__all__ = ["LENGTH", "nonce"]

LENGTH = 12


def nonce(key: bytes, scope: Scope) -> str:
    """HMAC-SHA256 over org, agent, user and session, each behind its length, as lowercase letters.

    Without a session it is keyed to agent and user. An absent user or session differs from every present one. The same in
    all workers that share `key`.
    """
    digest = hmac.new(key, b"".join(map(_framed, (scope.org, scope.agent, scope.user, scope.session))), sha256).digest()
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
