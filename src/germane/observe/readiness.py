"""Readiness: whether load balancers should send calls to this process, and the reasons if not.

A process that isn't ready still answers the calls that it gets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

__all__ = ["Readiness", "Reason"]

Reason = Literal["starting", "stopping", "store_not_answering", "loop_lag", "saturated"]


class Readiness:
    """Combines the state of store, event loop and ports.

    `run` calls `probe` every `interval` seconds, one call at a time, so that health checks never query the store themselves. A
    probe that raises, or takes longer than `timeout` seconds, means that the store doesn't answer. `loop_ok` says whether the
    event loop keeps up, `saturated` whether a port refuses calls.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[object]],
        *,
        loop_ok: Callable[[], bool] = lambda: True,
        saturated: Callable[[], bool] = lambda: False,
        interval: float = 1.0,
        timeout: float = 1.0,
    ) -> None:
        self._probe, self._loop_ok, self._saturated = probe, loop_ok, saturated
        self._interval, self._timeout = interval, timeout
        self._store_answers: bool | None = None
        self._stopping = False

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every reason why the process isn't ready; empty when it is."""
        reasons: list[Reason] = []
        if self._stopping:
            reasons.append("stopping")
        if self._store_answers is None:
            reasons.append("starting")
        elif not self._store_answers:
            reasons.append("store_not_answering")
        if not self._loop_ok():
            reasons.append("loop_lag")
        if self._saturated():
            reasons.append("saturated")
        return tuple(reasons)

    @property
    def ready(self) -> bool:
        return not self.reasons

    def stop(self) -> None:
        """Makes the process not ready for good: new calls should go elsewhere while running calls end."""
        self._stopping = True

    async def run(self) -> None:
        """Probes the store until the task is cancelled."""
        probing: asyncio.Future[object] | None = None
        try:
            while True:
                if probing is None:
                    probing = asyncio.ensure_future(self._probe())
                    probing.add_done_callback(_consume_exception)
                await asyncio.wait([probing], timeout=self._timeout)
                if probing.done():
                    self._store_answers = not probing.cancelled() and probing.exception() is None
                    probing = None
                    await asyncio.sleep(self._interval)
                else:
                    self._store_answers = False
        finally:
            if probing is not None:
                probing.cancel()


def _consume_exception(future: asyncio.Future[object]) -> None:
    """Marks the exception as retrieved, or asyncio would log it."""
    if not future.cancelled():
        future.exception()
