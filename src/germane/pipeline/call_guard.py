"""Call guard: the rules for every call to the store, the embedder or a source: circuit breaker, time limit, abandoned tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.pipeline.assembly_state import Late
from germane.pipeline.circuit_breaker import Attempt, BreakerKey, BreakerOpen, Breakers
from germane.pipeline.gather.abandoned import Abandoned
from germane.pipeline.gather.source import Skipped
from germane.types.scope import Scope

__all__ = ["Guard", "breaker_key"]

_FAIR = 0.005
"""Seconds that a call must have had before a time-out counts as a failure: these calls read one row or one number."""


def breaker_key(scope: Scope) -> BreakerKey:
    """The circuit breaker's key of a scope: a partition, not a session."""
    return BreakerKey(scope.org, scope.agent, scope.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The guard of one assembly. `force` bypasses an open circuit: an assembly without a deadline can wait."""

    clock: Clock
    breakers: Breakers
    abandoned: Abandoned
    key: BreakerKey
    force: bool = False

    def start_attempt(self, name: str) -> Attempt:
        """Permission to call `name` once. The caller reports the outcome to the attempt, whatever happened. Raises `Skipped`,
        with the reason `shed` (too many abandoned calls of this name still run) or `breaker` (its circuit is open)."""
        if self.abandoned.sheds(name):
            raise Skipped("shed")
        attempt = self.breakers.start_attempt(name, self.key, self.clock.steady(), force=self.force)
        if attempt is None:
            raise Skipped("breaker")
        return attempt

    async def call(
        self,
        name: str,
        start: Callable[[], Coroutine[Any, Any, Any]],
        kind: type | tuple[type, ...],
        *,
        patience: float | None,
    ) -> Any:
        """Awaits `start()` for at most `patience` seconds (None: as long as it takes) and returns its result.

        Raises `BreakerOpen`, `Late` after `patience` seconds and for a call that cancels itself, `TypeError` for a result that
        isn't a `kind`, and what the call raises. An `InvalidInput` is the caller's fault and isn't reported as a failure.
        """
        try:
            attempt = self.start_attempt(name)
        except Skipped as skipped:
            raise BreakerOpen(str(skipped)) from None
        task = asyncio.ensure_future(_started(start))
        try:
            done, _ = await asyncio.wait([task], timeout=patience)
        except asyncio.CancelledError:
            self.abandoned.take(task, name)
            attempt.report(None, self.clock.steady())
            raise
        now = self.clock.steady()
        if not done:
            self.abandoned.take(task, name)
            attempt.report(None if patience is not None and patience < _FAIR else False, now, late=True)
            raise Late
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        failed = error is not None or not isinstance(task.result(), kind)
        attempt.report(None if isinstance(error, InvalidInput) else not failed, now)
        if task.cancelled():
            raise Late
        result = task.result()
        if failed:
            raise TypeError(f"{name}: {type(result).__name__}")
        return result


async def _started(start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """A task even where calling `start` raises."""
    return await start()
