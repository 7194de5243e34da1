"""Call: one RPC while it runs: when it came, when its caller stops waiting, who it is, and what is told of it afterwards.
Not its request: that is for its method to read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from germane.access.grant import Grant
from germane.access.key import Right
from germane.types.context import Metadata

__all__ = ["RESERVE", "Call", "Observer", "Seen", "Unseen"]

RESERVE = 0.008
"""Seconds before the caller's own deadline at which the answer must be ready: it has to travel (ENGINE-2)."""


class Seen(Protocol):
    """What an observer wants to know of one call: never content, never keys. `code` is gRPC's, by name; `error` is for its type
    and place alone."""

    org: str
    agent: str
    request_id: str
    code: str
    metadata: Metadata | None
    error: BaseException | None


class Observer(Protocol):
    """Who is told of every call: for metrics, logs and spans."""

    def call(
        self, method: str, headers: Mapping[str, str] | None = ..., *, waited: float = ...
    ) -> AbstractContextManager[Seen]:
        """Around the call; `method` is the RPC's name, `Remember`. Of the headers it gets those about tracing. The call has
        `waited` for so many seconds already, until its key was verified."""


class Unseen:
    """For servers that nobody watches."""

    __slots__ = ("agent", "code", "error", "metadata", "org", "request_id")

    def __init__(self) -> None:
        self.org = self.agent = self.request_id = ""
        self.code = "OK"
        self.metadata: Metadata | None = None
        self.error: BaseException | None = None


class Call:
    """Mutable, of one RPC, never shared. Times are seconds on the clock's steady scale. `grant` is None where keys aren't asked
    for."""

    __slots__ = ("arrived", "ends", "grant", "right", "seen")

    def __init__(self, right: Right, seen: Seen, *, arrived: float, ends: float | None) -> None:
        self.right, self.seen, self.arrived, self.ends = right, seen, arrived, ends
        self.grant: Grant | None = None

    def due(self, seconds: float) -> float:
        """When the answer must be ready: `seconds` after the call came, or `RESERVE` before its caller stops waiting."""
        own = self.arrived + seconds
        return own if self.ends is None else min(own, self.ends - RESERVE)
