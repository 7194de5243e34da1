"""Readiness: whether calls should come here now, and if not, why. A service that isn't ready still answers what comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

__all__ = ["Readiness", "Reason"]

Reason = Literal["starting", "stopping", "store_not_answering", "loop_lag", "saturated"]


class Readiness:
    """`reasons` is empty when ready. `run` asks the store with `probe` every `every` seconds, one at a time, and nobody who
    wants to know does; one that isn't back after `patience` seconds says that the store doesn't answer. `fine` says whether the
    loop keeps up, `saturated` whether calls are turned away."""

    def __init__(
        self,
        probe: Callable[[], Awaitable[object]],
        *,
        fine: Callable[[], bool] = lambda: True,
        saturated: Callable[[], bool] = lambda: False,
        every: float = 1.0,
        patience: float = 1.0,
    ) -> None:
        self._probe, self._fine, self._saturated, self._every, self._patience = probe, fine, saturated, every, patience
        self._answering: bool | None = None
        self._stopping = False

    @property
    def reasons(self) -> tuple[Reason, ...]:
        found: list[Reason] = []
        if self._stopping:
            found.append("stopping")
        if self._answering is None:
            found.append("starting")
        elif not self._answering:
            found.append("store_not_answering")
        if not self._fine():
            found.append("loop_lag")
        if self._saturated():
            found.append("saturated")
        return tuple(found)

    @property
    def ready(self) -> bool:
        return not self.reasons

    def stop(self) -> None:
        """From now on it isn't ready: calls should go elsewhere while those that are here end."""
        self._stopping = True

    async def run(self) -> None:
        """Until it is cancelled."""
        asked: asyncio.Future[object] | None = None
        try:
            while True:
                if asked is None:
                    asked = asyncio.ensure_future(self._probe())
                    asked.add_done_callback(_heard)
                await asyncio.wait([asked], timeout=self._patience)
                if asked.done():
                    self._answering = not asked.cancelled() and asked.exception() is None
                    asked = None
                    await asyncio.sleep(self._every)
                else:
                    self._answering = False
        finally:
            if asked is not None:
                asked.cancel()


def _heard(asked: asyncio.Future[object]) -> None:
    """What it raised is for no log."""
    if not asked.cancelled():
        asked.exception()
