"""Traffic: how many slots of a port are in use, how many calls it admitted and refused, and what became of what it relayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

KINDS = ("calls", "keys", "health", "http")
"""What is limited: calls with a valid key, keys that are being verified, health watches without a key, HTTP connections."""

REASONS = (
    "unauthenticated",  # no key, or an invalid one
    "unverified",  # the store didn't verify the key in time
    "slots",  # all slots were taken
    "share",  # the org's share of the slots was used up
    "keys",  # too many keys were being verified at once
    "health",  # a health watch without a key was replaced by a newer one
    "body",  # the key was valid, but the request didn't arrive in time
    "late",  # the deadline had passed before the call got a slot
    "unknown_method",
    "http_full",  # the connection that was silent longest was replaced by a new one
    "http_slow",  # a request's head didn't arrive, or its answer wasn't read, in time
    "http_request",  # not an HTTP request, or one with a body
)
"""Every reason for a refusal. The reasons are labels of a metric, so the list is closed."""


HANDOVERS = ("answered", "lost")
"""What becomes of an assembly that is handed over to another worker. It is lost where that worker ends or is late; then the
worker that has the caller's connection assembles by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """`used` counts what is in use now, by kind. `admitted`, `refused` and `handed_over` are totals since the port was opened,
    the last two by reason and by outcome. `full` is True when every org with a running call would be refused another call."""

    used: Mapping[str, int]
    refused: Mapping[str, int]
    handed_over: Mapping[str, int] = field(default_factory=dict)
    admitted: int = 0
    full: bool = False


Ended: TypeAlias = Literal["whole", "caller", "upstream", "unreachable", "refused", "stopped"]
"""How an answer of the proxy ended: sent whole; the caller has gone; the upstream broke off; the upstream gave none, and the
caller got an error of the proxy's own; the proxy asked no upstream, as for a wrong key; the service stopped and cut it off."""
ENDED: tuple[Ended, ...] = get_args(Ended)

UNRECORDED = (
    "full",  # the queue was full
    "expired",  # the store failed for a day
    "forgotten",  # the session or its owner were forgotten meanwhile
    "refused",  # the store refuses the messages
    "failed",  # recording them failed again and again though the store works
    "broken",  # the file of the turn was damaged
    "closed",  # the service had stopped
)
"""Every reason for which the proxy doesn't record a turn. The reasons are labels of a metric, so the list is closed."""

NO_UPSTREAM = "none"
"""Stands for the upstream of requests that name none that the service has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyTraffic:
    """`open` counts the answers and WebSockets that are relayed now, by upstream; `ended` those before, by upstream and by how
    they ended. `waiting` are the turns that aren't recorded yet. `recorded`, `unrecorded` (by reason) and `ended` are totals
    since the proxy was opened."""

    open: Mapping[str, int]
    ended: Mapping[tuple[str, Ended], int]
    waiting: int
    recorded: int
    unrecorded: Mapping[str, int]
