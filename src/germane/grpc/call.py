"""RPC call: one RPC while it runs: its arrival, deadline and grant, and what the observer records of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from germane.access.grant import Grant
from germane.access.key import Right
from germane.types.context import Metadata

__all__ = ["RESERVE", "RpcCall", "RpcObserver", "RpcRecord", "UnobservedRpc", "may_read", "may_write"]

RESERVE = 0.008
"""Seconds before the caller's own deadline at which the answer must be ready, because it still has to travel (ENGINE-2)."""


class RpcRecord(Protocol):
    """What an observer records of one RPC. It never holds content or keys.

    `code` is the name of the gRPC status. Of `error` the observer may use the type and the place only.
    """

    org: str
    agent: str
    request_id: str
    code: str
    metadata: Metadata | None
    error: BaseException | None


class RpcObserver(Protocol):
    """Observes every RPC, for metrics, logs and spans. `germane.observe.observer.Observer` is one."""

    def call(
        self, method: str, headers: Mapping[str, str] | None = ..., *, waited: float = ...
    ) -> AbstractContextManager[RpcRecord]:
        """Surrounds one RPC; whoever runs it fills in the record.

        `method` is the short name, such as `Remember`. `headers` are the tracing headers of the call. `waited` is how many
        seconds the call has already taken, until its key was verified.
        """


class UnobservedRpc:
    """The record of a server without an observer."""

    __slots__ = ("agent", "code", "error", "metadata", "org", "request_id")

    def __init__(self) -> None:
        self.org = self.agent = self.request_id = ""
        self.code = "OK"
        self.metadata: Metadata | None = None
        self.error: BaseException | None = None


class RpcCall:
    """One RPC; mutable, never shared between calls.

    `arrived` and `ends` (the caller's own deadline, None without one) are seconds of the clock's `steady`. `right` is what the
    method requires of a key. `grant` is what the caller's key allows, None where the server requires no keys.
    """

    __slots__ = ("arrived", "ends", "grant", "record", "right")

    def __init__(self, right: Right, record: RpcRecord, *, arrived: float, ends: float | None) -> None:
        self.right, self.record, self.arrived, self.ends = right, record, arrived, ends
        self.grant: Grant | None = None

    def due(self, seconds: float) -> float:
        """Returns when the answer must be ready: `seconds` after the arrival, or `RESERVE` before the caller's own deadline,
        whichever is earlier."""
        own = self.arrived + seconds
        return own if self.ends is None else min(own, self.ends - RESERVE)


def may_read(call: RpcCall) -> bool:
    """Whether the caller's key allows reading what the call is about, once its org and agent are authorised."""
    return call.grant is None or call.grant.allows("read", org=call.record.org, agent=call.record.agent)


def may_write(call: RpcCall) -> bool:
    """As `may_read`, of writing."""
    return call.grant is None or call.grant.allows("write", org=call.record.org, agent=call.record.agent)
