"""Traffic: how many slots of a port are in use, and how many calls it admitted and refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
