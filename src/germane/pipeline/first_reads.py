"""First reads: what an assembly reads of the store before its sources: one trip, or none."""

from __future__ import annotations

import asyncio

from germane.pipeline.assembly_state import Outcome
from germane.pipeline.call_guard import Guard
from germane.pipeline.deadline import Deadline
from germane.pipeline.delegated_request import held_to_delegation
from germane.pipeline.result_cache import KeptResult, ResultCache
from germane.pipeline.running_task import NO_TASK, RunningTask, running_task
from germane.store import ScopedStore
from germane.types.request import Request
from germane.types.strategy import Strategy

__all__ = ["read_first"]


async def read_first(
    results: ResultCache,
    kept: KeptResult | None,
    request: Request,
    store: ScopedStore,
    strategy: Strategy,
    deadline: Deadline,
    guard: Guard,
) -> tuple[Outcome | None, RunningTask, Request]:
    """Returns the result that is kept, where it still holds; the session's task; and the request, held to what the session's
    delegation allows. A request without a session and without a result asks the store for nothing."""
    if kept is None and request.scope.session is None:
        return None, NO_TASK, request
    return await asyncio.gather(
        results.current(kept, store, deadline, guard),
        running_task(request, store, strategy, deadline, guard),
        held_to_delegation(request, store, deadline, guard),
    )
