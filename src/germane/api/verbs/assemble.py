"""Assemble: one call of `assemble`, `fallback` or `search`: the arguments become a request, and the engine answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from germane.api.arguments import build_request, history_terms
from germane.api.contents import index_all
from germane.api.strategies import allowed_filters
from germane.api.wiring import Parts
from germane.compaction.strategy import CompactionStrategy
from germane.ports.background import aside
from germane.types.candidate import Scored
from germane.types.checks import check_text, check_whole_number
from germane.types.context import Context
from germane.types.limits import COUNT, NAME, QUERY
from germane.types.message import Raw
from germane.types.query import Filters
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy

Asking = Callable[..., Request]
"""`build_request` with the arguments that only it reads."""


async def assemble(
    parts: Parts,
    scope: Scope,
    messages: Sequence[Raw],
    asking: Asking,
    *,
    session: str | None,
    strategy: str | Strategy,
    filters: Filters | None,
    history: CompactionStrategy | bool | None,
    history_tokens: int | None,
) -> Context:
    """See `Agent.assemble`."""
    began = parts.clock.steady()
    within, plan = scope.within(session), parts.strategies.find(strategy)
    compacting = history_terms(history, history_tokens)
    request = await _read(parts, within, messages, asking, allowed_filters(plan, filters))
    context = await parts.engine.assemble(request, parts.store.within(within), plan, began, compacting)
    parts.retrievals.injected(scope, context.items)
    parts.injections.note(within)
    return context


async def fall_back(
    parts: Parts,
    scope: Scope,
    messages: Sequence[Raw],
    asking: Asking,
    *,
    session: str | None,
    strategy: str | Strategy,
    filters: Filters | None,
    reason: str,
) -> Context:
    """See `Agent.fallback`."""
    within, plan = scope.within(session), parts.strategies.find(strategy)
    check_text("reason", reason, NAME)
    request = await _read(parts, within, messages, asking, allowed_filters(plan, filters))
    return await parts.engine.fall_back(request, plan, reason)


async def search(
    parts: Parts,
    scope: Scope,
    query: str,
    limit: int,
    *,
    filters: Filters | None,
    at: datetime | None,
    strategy: str | Strategy,
) -> tuple[Scored, ...]:
    """See `Agent.search`."""
    check_whole_number("limit", limit, high=COUNT.maximum)
    check_text("query", query, QUERY, valid=False)
    plan = parts.strategies.find(strategy)
    request = build_request(
        scope=scope,
        catalog=parts.catalog,
        clock=parts.clock,
        messages=(),
        model="any",
        query=query,
        at=at,
        filters=allowed_filters(plan, filters),
    )
    await index_all(parts, scope)
    return await parts.engine.search(request, parts.store.within(scope), plan, limit)


async def _read(parts: Parts, scope: Scope, messages: Sequence[Raw], asking: Asking, filters: Filters | None) -> Request:
    """Returns the checked request. A long list of messages is read in a thread, so that the event loop stays free."""
    work = partial(asking, scope=scope, catalog=parts.catalog, clock=parts.clock, messages=messages, filters=filters)
    return await aside(len(messages) if isinstance(messages, Sequence) else 0, work)
