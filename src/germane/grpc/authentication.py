"""Authentication: from a call's metadata to what its key opens. Whatever is wrong with a key is said in one way (RPC-5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import grpc

from germane.access.grant import Grant
from germane.access.key import Right
from germane.grpc.refusals import Refused

__all__ = ["Keys", "authenticated", "denied", "presented", "unauthenticated"]

_PATIENCE = 0.02
"""Seconds that a read waits for the store's word on a key before memory's has to do."""


class Keys(Protocol):
    """`germane.keys`, as far as it is needed here."""

    async def verify(self, token: str, *, patience: float | None = ...) -> Grant | None:
        """What the key opens; None for any that doesn't hold. Raises `StoreUnavailable` where that can't be said."""


def presented(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """The key that was shown, as `authorization: Bearer <key>` or `x-api-key: <key>`; None where none was."""
    found: dict[str, str] = {}
    for name, value in metadata or ():
        if name in ("authorization", "x-api-key") and isinstance(value, str):
            found.setdefault(name, value)
    scheme, _, token = found.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return found.get("x-api-key", "").strip() or None


async def authenticated(keys: Keys, token: str, right: Right) -> Grant:
    """Raises `Refused`, and `StoreUnavailable` where the key can't be checked. What writes wants the store's own word."""
    grant = await keys.verify(token, patience=None if right == "write" else _PATIENCE)
    if grant is None:
        raise unauthenticated()
    return grant


def unauthenticated() -> Refused:
    """For no key, and for any that doesn't hold."""
    return Refused(
        grpc.StatusCode.UNAUTHENTICATED,
        "an API key is needed that holds: send  authorization: Bearer gk_…  (germane keys create makes one)",
    )


def denied() -> Refused:
    """Whatever of right, org and agent isn't the key's, and whether there is such a one or not (SCOPE-3)."""
    return Refused(grpc.StatusCode.PERMISSION_DENIED, "the API key doesn't open this")
