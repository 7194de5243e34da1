"""Context build: one call of `build`: the text for a query within a number of tokens, without any messages (ENGINE-9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.api.arguments import build_request
from germane.api.digest import without_directive
from germane.api.strategies import COMPACT, allowed_filters, derive
from germane.api.wiring import Parts
from germane.errors import InvalidInput
from germane.pipeline.result_cache import ResultCache
from germane.text.normal import content_hash
from germane.types.built_context import BuildFigures, BuiltContext, ComponentType, ContextComponent
from germane.types.candidate import Candidate, Chosen
from germane.types.context import Context
from germane.types.evidence import Evidence
from germane.types.limits import NAME, QUERY, shown, text
from germane.types.query import Filters, Query
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan, Strategy

__all__ = ["ADDITIONAL", "BUILD", "build_context", "components_of"]

_WORKING = (
    SourcePlan(name="events", limit=90),
    SourcePlan(name="entities", limit=20),
    SourcePlan(name="relations", limit=30),
    SourcePlan(name="patterns", limit=10),
)
_PLAIN = without_directive(COMPACT)
BUILD = replace(_PLAIN, name="build", format="markdown", sources=(*_PLAIN.sources, *_WORKING))
"""The strategy that a partial one changes: what `compact` finds, with what happened, the graph, and the session's task stack.
It uses the budget, and shows neither directive nor blocks, which belong to the caller's own prompt."""
ADDITIONAL = "additional_context"
"""The source of what the caller gives, and the id of that item."""
_BY_CATEGORY: Mapping[str, ComponentType] = {
    "activity": "recent",
    "additional": "custom",
    "entity": "entity",
    "pattern": "pattern",
    "relation": "relation",
}
_RECENT = frozenset({"continuity", "events", "history", "recent"})
_SEARCHED = frozenset({"archive", "documents", "memories", "messages", "semantic", "structured"})
"""Sources whose items are recent events, and what was found for the query or by name."""


class _Given:
    """A source of one candidate: what the caller gave."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        return (self._candidate,)


async def build_context(
    parts: Parts,
    scope: Scope,
    query: str,
    *,
    max_tokens: int,
    strategy: str | Strategy | Mapping[str, Any] | None,
    additional: str | None,
    filters: Filters | None,
    model: str,
    at: datetime | None,
    deadline: float | None,
) -> BuiltContext:
    """Runs the pipeline for a request without messages. Raises `InvalidInput`, and `UnknownName` for a strategy."""
    began = parts.clock.steady()
    text("query", query, QUERY, valid=False)
    plan = _strategy(parts, strategy)
    request = build_request(
        scope=scope,
        catalog=parts.catalog,
        clock=parts.clock,
        messages=(),
        model=model,
        query=query,
        at=at,
        deadline=deadline,
        max_tokens=max_tokens,
        filters=allowed_filters(plan, filters),
    )
    engine, used = parts.engine, plan
    if additional is not None and text("additional_context", additional, QUERY).strip():
        given = _Given(_additional(additional, request.at))
        used = replace(plan, sources=(*plan.sources, SourcePlan(name=ADDITIONAL, limit=1)))
        sources = {**engine.sources, ADDITIONAL: lambda _: given}
        engine = replace(engine, sources=sources, result_cache=ResultCache(0))  # the cache's key doesn't know the text
    context = await engine.assemble(request, parts.store.within(scope), used, began)
    items = context.items
    parts.retrievals.injected(scope.within(None), items)
    return BuiltContext(
        content=context.added,
        components=components_of(items),
        token_count=context.metadata.total_tokens_injected,
        truncated=context.metadata.was_truncated,
        strategy=plan,
        metadata=_figures(query, context, 1000 * (parts.clock.steady() - began)),
        max_tokens=max_tokens,
        scope=scope,
        model=model,
        at=request.at if request.dated else None,
        filters=request.filters,
        items=items,
        trace=context.trace,
    )


def components_of(items: Iterable[Chosen]) -> tuple[ContextComponent, ...]:
    """Returns the components of these items, in their order."""
    return tuple(
        ContextComponent(
            type=_type(item),
            source=item.id,
            content=item.text,
            tokens=item.tokens,
            relevance_score=item.score,
            handle=item.handle,
            share=item.share,
        )
        for item in items
    )


def _type(item: Chosen) -> ComponentType:
    by_source: ComponentType = "recent" if item.source in _RECENT else "semantic" if item.source in _SEARCHED else "custom"
    return _BY_CATEGORY.get(item.category, by_source)


def _strategy(parts: Parts, wanted: str | Strategy | Mapping[str, Any] | None) -> Strategy:
    """The strategy, without directive and blocks. A table is merged into `BUILD`, or into the strategy that its `like`
    names."""
    if wanted is None:
        return BUILD
    if isinstance(wanted, str | Strategy):
        return without_directive(parts.strategies.find(wanted))
    if not isinstance(wanted, Mapping):
        raise InvalidInput(f"strategy must be a name, a Strategy or a table of settings, not {shown(wanted)}")
    for name in wanted:
        text("strategy: setting", name, NAME)
    changes = dict(wanted)
    like = changes.pop("like", None)
    base = BUILD if like is None else parts.strategies.find(like)
    return without_directive(parts.strategies.find(derive(base, changes)))


def _additional(given: str, at: datetime) -> Candidate:
    return Candidate(
        id=ADDITIONAL,
        source=ADDITIONAL,
        category="additional",
        text=given,
        created_at=at,
        kinds=("additional",),
        evidence=Evidence(structured=1.0),
        confidence=1.0,
        sensitivity="public",
        required=True,
        content_hash=content_hash("additional", given),
    )


def _figures(query: str, context: Context, milliseconds: float) -> BuildFigures:
    trace = context.trace
    seen = [*(item.scored.candidate for item in trace.chosen), *(out.scored.candidate for out in trace.left_out)]
    found = [(candidate.category, {candidate.source, *candidate.also}) for candidate in seen]
    return BuildFigures(
        query=query,
        events_considered=sum(not names.isdisjoint(_RECENT) for _, names in found),
        entities_considered=sum(category == "entity" for category, _ in found),
        chunks_considered=sum(not names.isdisjoint(_SEARCHED) for _, names in found) + len(trace.unread),
        assembly_ms=milliseconds,
        fallback_reason=context.metadata.fallback_reason,
        degradation_level=context.metadata.degradation_level,
    )
