"""Directive read: reads a directive that isn't known yet, once for all calls of one scope that need it (ENGINE-11)."""

from __future__ import annotations

import asyncio

from germane.clock import Clock
from germane.memories.directive import Directive
from germane.pipeline.call_guard import Guard
from germane.pipeline.deadline import Deadline
from germane.pipeline.directive_cache import DirectiveCache
from germane.store import ScopedStore

__all__ = ["DirectiveReads"]

_PATIENCE = 0.25
"""Seconds that a read may take, whatever the deadline of the call that began it: later calls share it."""

_Key = tuple[asyncio.AbstractEventLoop, str, str, str | None]


class DirectiveReads:
    """The reads that run now, one for each scope (org, agent, user) and event loop. What they find goes to the cache."""

    def __init__(self) -> None:
        self._running: dict[_Key, asyncio.Task[None]] = {}

    def start(self, store: ScopedStore, cache: DirectiveCache, guard: Guard) -> asyncio.Task[None] | None:
        """Starts a read of this scope's directive, or joins the read that runs. None where it is known."""
        scope = store.scope
        if cache.knows(scope):
            return None
        key = (asyncio.get_running_loop(), scope.org, scope.agent, scope.user)
        if (task := self._running.get(key)) is None:
            task = self._running[key] = asyncio.create_task(_read(store, cache, guard))
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return task

    async def wait(self, task: asyncio.Task[None] | None, deadline: Deadline, clock: Clock) -> None:
        """Waits for a read that `start` returned, as long as the deadline allows. Cancelling the caller leaves the read to the
        other calls."""
        patience = deadline.patience(clock.steady())
        if task is not None and (patience is None or patience > 0):
            await asyncio.wait([task], timeout=patience)


async def _read(store: ScopedStore, cache: DirectiveCache, guard: Guard) -> None:
    """A failure only means that nothing is learned."""
    try:
        await cache.read(store.scope, lambda: guard.call("directive", store.directive, Directive, patience=_PATIENCE))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return
