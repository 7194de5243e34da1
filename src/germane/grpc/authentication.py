"""Authentication: reads and verifies the API key of a call; every invalid key gets the same error (RPC-5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import grpc

from germane.access.grant import Grant
from germane.access.key import Right
from germane.grpc.refusals import Refused

__all__ = ["Keys", "authenticate", "denied", "presented_key", "unauthenticated"]

_READ_PATIENCE = 0.02
"""Seconds that a read waits for the store to verify a key, before the cached answer has to do."""


class Keys(Protocol):
    """The part of `germane.keys` that the port uses."""

    async def verify(self, token: str, *, patience: float | None = ...) -> Grant | None:
        """Returns what the key allows, None for an invalid key. Raises `StoreUnavailable` where that can't be determined."""


def presented_key(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """Returns the key in `authorization: Bearer <key>` or `x-api-key: <key>`, None where there is none."""
    headers: dict[str, str] = {}
    for name, value in metadata or ():
        if name in ("authorization", "x-api-key") and isinstance(value, str):
            headers.setdefault(name, value)
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key", "").strip() or None


async def authenticate(keys: Keys, token: str, right: Right) -> Grant:
    """Returns what the key allows. Raises `Refused` for an invalid key, `StoreUnavailable` where it can't be verified.

    For a call that writes, the store must verify the key; for a read a cached answer will do.
    """
    grant = await keys.verify(token, patience=None if right == "write" else _READ_PATIENCE)
    if grant is None:
        raise unauthenticated()
    return grant


def unauthenticated() -> Refused:
    """The error for a missing key and for an invalid one."""
    return Refused(
        grpc.StatusCode.UNAUTHENTICATED,
        "an API key is needed that holds: send  authorization: Bearer gk_…  (germane keys create makes one)",
    )


def denied() -> Refused:
    """The error for a right, org or agent that the key doesn't allow, whether it exists or not (SCOPE-3)."""
    return Refused(grpc.StatusCode.PERMISSION_DENIED, "the API key doesn't open this")
