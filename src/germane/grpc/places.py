"""Places: a small number of them, for calls that show no good key. When one more comes, the oldest has to go of those from the
address that has most: calls that hold a place and do nothing can't keep others out, nor can one address.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Ousted", "Places"]


class Ousted(Exception):
    """Another needed the place."""


class Places:
    """`most` of them. For one event loop, but its length, which may be read from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: dict[asyncio.Timeout, str] = {}

    def __len__(self) -> int:
        return len(self._taken)

    @asynccontextmanager
    async def place(self, seconds: float, peer: str) -> AsyncIterator[None]:
        """A place for the block. What the block waits for ends with `TimeoutError` after so many seconds, and with `Ousted`
        when another needs the place. `peer` is gRPC's name for the other end, such as `ipv4:127.0.0.1:4711`."""
        address, ousted = peer.rpartition(":")[0], False
        try:
            async with asyncio.timeout(seconds) as mine:
                self._make_room(address)
                self._taken[mine] = address
                try:
                    yield
                finally:
                    ousted = mine not in self._taken
                    self._taken.pop(mine, None)
        except TimeoutError:
            if ousted:
                raise Ousted from None
            raise

    def _make_room(self, address: str) -> None:
        if len(self._taken) < self._most:
            return
        ((crowded, _),) = Counter([*self._taken.values(), address]).most_common(1)
        fitting = [one for one, its in self._taken.items() if its == crowded] or list(self._taken)
        del self._taken[fitting[0]]
        if not fitting[0].expired():
            fitting[0].reschedule(asyncio.get_running_loop().time())
