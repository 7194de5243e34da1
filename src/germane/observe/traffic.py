"""Traffic: what a port carries now, and what it has turned away since it was opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["KINDS", "REASONS", "Traffic"]

KINDS = ("calls", "keys", "health", "http")
"""What can be taken: slots of calls whose key holds, of keys that are being verified, of watches without a key; HTTP
connections."""

REASONS = (
    "unauthenticated",  # no key, or none that holds
    "unverified",  # the store didn't say in time whether the key holds
    "slots",  # every slot was taken
    "share",  # the org held as many slots as were free
    "keys",  # a key that hadn't been seen made room for another
    "health",  # a watch of health without a key made room for a newer one
    "body",  # a good key, and the request didn't come in time
    "late",  # the call's deadline had passed when it was taken up
    "unknown_method",
    "http_full",  # the oldest silent connection made room for a newer one
    "http_slow",  # a request's head didn't come, or the answer wasn't taken, in time
    "http_request",  # not a request, or one with a body
)
"""Why something is turned away: the labels of a metric, so that there are no others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """`used` counts by kind what is taken now. `admitted` and `refused` are totals, the latter by reason. `full` says whether
    every org that has calls under way would be turned away with another one."""

    used: Mapping[str, int]
    refused: Mapping[str, int]
    admitted: int = 0
    full: bool = False
