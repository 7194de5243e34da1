"""Refusal pace: the rate limit on refusals, so that an org with invalid requests doesn't slow down the others.

A refusal costs about a millisecond of processor time, and some callers send the next invalid request as soon as they have the
answer. Each org gets a few refusals at once and then a steady rate; a large request counts for several. The class only
computes delays; its caller waits.
"""

from __future__ import annotations

from germane.types.lru_cache import LruCache

__all__ = ["RefusalPace"]

_MAX_ORGS = 1024
_BYTES_PER_REFUSAL = 64 * 1024
"""Bytes of a request that cost as much time to receive and parse as one refusal."""


class RefusalPace:
    """A leaky bucket for each org. Bounded; evicts the org that was refused least recently."""

    def __init__(self, *, rate: float = 50.0, burst: int = 50, max_delay: float = 1.0) -> None:
        """`rate` is refusals a second after the first `burst`; no delay is longer than `max_delay` seconds."""
        self._interval, self._burst_seconds, self._max_delay = 1 / rate, burst / rate, max_delay
        self._free_at: LruCache[str, float] = LruCache(_MAX_ORGS)

    def delay(self, org: str, now: float, size: int = 0) -> float:
        """Counts a refusal of `org` and returns the seconds to wait before sending it.

        `now` is in seconds of a monotonic clock. Each 64 KiB of `size`, the request's bytes, count as one more refusal.
        """
        refusals = 1 + size // _BYTES_PER_REFUSAL
        free_at = max(self._free_at.get(org, 0.0), now - self._burst_seconds) + self._interval * refusals
        self._free_at.put(org, min(free_at, now + self._max_delay))
        return min(self._max_delay, max(0.0, free_at - now))
