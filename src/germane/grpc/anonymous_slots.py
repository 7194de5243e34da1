"""Anonymous slots: a small pool for calls without a verified key; when full, it evicts a call of the busiest address.

It evicts the oldest call of that address. So calls that hold a place and do nothing can't keep other callers out, and one
address can't take all places.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["AnonymousSlots", "Evicted"]


class Evicted(Exception):
    """A newer call took the place."""


class AnonymousSlots:
    """A pool of `max_places`. For one event loop; only its length may be read from any thread."""

    def __init__(self, max_places: int) -> None:
        self._max_places = max_places
        self._taken: dict[asyncio.Timeout, str] = {}  # oldest first, with the holder's address

    def __len__(self) -> int:
        return len(self._taken)

    @asynccontextmanager
    async def place(self, seconds: float, peer: str) -> AsyncIterator[None]:
        """Holds a place during the block, and evicts another holder where the pool is full.

        A wait inside the block raises `TimeoutError` after `seconds`, and `Evicted` when the place is taken away. `peer` is
        gRPC's name for the other end, such as `ipv4:127.0.0.1:4711`.
        """
        address, evicted = peer.rpartition(":")[0], False
        try:
            async with asyncio.timeout(seconds) as own:
                self._make_room(address)
                self._taken[own] = address
                try:
                    yield
                finally:
                    evicted = own not in self._taken
                    self._taken.pop(own, None)
        except TimeoutError:
            if evicted:
                raise Evicted from None
            raise

    def _make_room(self, address: str) -> None:
        if len(self._taken) < self._max_places:
            return
        ((busiest, _),) = Counter([*self._taken.values(), address]).most_common(1)
        candidates = [place for place, holder in self._taken.items() if holder == busiest] or list(self._taken)
        oldest = candidates[0]
        del self._taken[oldest]
        if not oldest.expired():
            oldest.reschedule(asyncio.get_running_loop().time())
