"""Call: one question to the store outside gathering, under the rules that hold there: not asked while its breaker is open, not
waited for beyond its time, abandoned then, and its breaker told how it went."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.pipeline.assembly import Late
from germane.pipeline.circuit_breaker import BreakerOpen, Breakers, Place
from germane.pipeline.gather.abandoned import Abandoned
from germane.types.scope import Scope

__all__ = ["call", "place"]

_FAIR = 0.005
"""Seconds after which being late speaks against the store: these are small questions."""


def place(scope: Scope) -> Place:
    return Place(scope.org, scope.agent, scope.user)


async def call(
    name: str,
    ask: Callable[[], Coroutine[Any, Any, Any]],
    kind: type | tuple[type, ...],
    *,
    scope: Scope,
    patience: float | None,
    clock: Clock,
    breakers: Breakers,
    abandoned: Abandoned,
) -> Any:
    """What `ask` answers, a `kind` of thing. Raises `BreakerOpen`, `Late` after `patience` seconds (None: waits), `TypeError`
    for rubbish, and what the store raised. One that gave itself up never came to an end: `Late`. `InvalidInput`, which is the
    caller's to put right, says nothing of the store."""
    attempt = (
        None if abandoned.sheds(name) else breakers.start_attempt(name, place(scope), clock.steady(), force=patience is None)
    )
    if attempt is None:
        raise BreakerOpen
    task = asyncio.ensure_future(_asked(ask))
    try:
        done, _ = await asyncio.wait([task], timeout=patience)
    except asyncio.CancelledError:
        abandoned.take(task, name)
        attempt.report(None, clock.steady())
        raise
    now = clock.steady()
    if not done:
        abandoned.take(task, name)
        attempt.report(None if patience is not None and patience < _FAIR else False, now, late=True)
        raise Late
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    failed = error is not None or not isinstance(task.result(), kind)
    attempt.report(None if isinstance(error, InvalidInput) else not failed, now)
    if task.cancelled():
        raise Late
    answer = task.result()
    if failed:
        raise TypeError(f"{name}: {type(answer).__name__}")
    return answer


async def _asked(ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return await ask()
