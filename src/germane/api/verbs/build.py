"""Build: one call of `build` or `update`: the text for a query within a number of tokens, without any messages (ENGINE-9).

`update` adds one event to a built context, without another search (ENGINE-7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.api.arguments import build_request
from germane.api.contents import find_thing
from germane.api.digest import without_directive
from germane.api.strategies import COMPACT, allowed_filters, derive
from germane.api.wiring import Parts
from germane.clock import zone
from germane.engine.result_cache import ResultCache
from germane.errors import InvalidInput
from germane.kinds.events.value import Event
from germane.kinds.inventory import AllowedIds
from germane.stages.gather.builtin import FOUND, RECENT
from germane.stages.gather.candidates import from_event
from germane.stages.write.escape import nonce
from germane.stages.write.formats import open_format
from germane.stages.write.layout import Format
from germane.text.normal import content_hash
from germane.types.candidate import Breakdown, Candidate, Chosen, Scored
from germane.types.checks import check_text
from germane.types.context import BuildFigures, BuiltContext, ComponentType, Context, ContextComponent
from germane.types.evidence import Evidence
from germane.types.limits import ID, NAME, QUERY
from germane.types.query import Filters, Query
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan, Strategy

_WORKING_SOURCES = (
    SourcePlan(name="events", limit=90),
    SourcePlan(name="entities", limit=20),
    SourcePlan(name="relations", limit=30),
    SourcePlan(name="patterns", limit=10),
)
_WITHOUT_DIRECTIVE = without_directive(COMPACT)
BUILD = replace(_WITHOUT_DIRECTIVE, name="build", format="markdown", sources=(*_WITHOUT_DIRECTIVE.sources, *_WORKING_SOURCES))
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
_FOUND = FOUND | {"documents"}
"""Sources of what was found for the query or by name, a caller's own source of documents among them."""


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
    check_text("query", query, QUERY, valid=False)
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
    if additional is not None and check_text("additional_context", additional, QUERY).strip():
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
        metadata=_build_figures(query, context, 1000 * (parts.clock.steady() - began)),
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
    by_source: ComponentType = "recent" if item.source in RECENT else "semantic" if item.source in _FOUND else "custom"
    return _BY_CATEGORY.get(item.category, by_source)


def _strategy(parts: Parts, wanted: str | Strategy | Mapping[str, Any] | None) -> Strategy:
    """The strategy, without directive and blocks. A table is merged into `BUILD`, or into the strategy that its `like`
    names."""
    if wanted is None:
        return BUILD
    if isinstance(wanted, str | Strategy):
        return without_directive(parts.strategies.find(wanted))
    if not isinstance(wanted, Mapping):
        raise InvalidInput("must be a name, a Strategy or a table of settings, not {}", wanted, path="strategy")
    for name in wanted:
        check_text("strategy", name, NAME)
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


def _build_figures(query: str, context: Context, milliseconds: float) -> BuildFigures:
    trace = context.trace
    seen = [*(item.scored.candidate for item in trace.chosen), *(out.scored.candidate for out in trace.left_out)]
    found = [(candidate.category, {candidate.source, *candidate.also}) for candidate in seen]
    return BuildFigures(
        query=query,
        events_considered=sum(not names.isdisjoint(RECENT) for _, names in found),
        entities_considered=sum(category == "entity" for category, _ in found),
        chunks_considered=sum(not names.isdisjoint(_FOUND) for _, names in found) + len(trace.unread),
        assembly_ms=milliseconds,
        fallback_reason=context.metadata.fallback_reason,
        degradation_level=context.metadata.degradation_level,
    )


# One call of `update`.


_CERTAIN_LOG_ODDS = 20.0
"""Log-odds of an event that has just happened: its score is 1."""


async def update_context(parts: Parts, scope: Scope, built: BuiltContext, event: Event | str) -> BuiltContext:
    """See `Agent.update_context`. Deterministic and idempotent."""
    if not isinstance(built, BuiltContext):
        raise InvalidInput("takes what build returned, not {}", built, path="update_context")
    if replace(built.scope, session=None) != replace(scope, session=None):
        raise InvalidInput("this context was built for another org, agent or user", advice="build it with this agent")
    store = parts.store.within(built.scope)
    id = check_text("event", event.id if isinstance(event, Event) else event, ID)
    found = await find_thing(store, id)
    if not isinstance(found, Event):
        raise InvalidInput("{} is a memory, and an update adds events", id, advice="build anew, and it is found")
    own = {*parts.engine.sources, ADDITIONAL}
    stored = [item.id for item in built.items if not item.scored.candidate.only_from(own)]
    at = built.at or parts.clock.now()
    allowed = await store.ask(AllowedIds([*stored, found.id], at, built.filters))
    order = {component.source: place for place, component in enumerate(built.components)}
    kept = [item for item in built.items if item.id in allowed or item.id not in stored]
    kept.sort(key=lambda item: order[item.id])
    layout = _layout(parts, built)
    if found.id not in allowed or not _passes(found, built):
        return _unchanged(built, kept, layout, "the filters of this context don't allow the event")
    new = _chosen_event(from_event(found, "recent", Evidence(recent=1.0), at=at), layout, built.max_tokens)
    if new is None:
        return _unchanged(built, kept, layout, f"the event doesn't fit into {built.max_tokens} tokens, not even shortened")
    others = [item for item in kept if not _shows_same_thing(item, new)]
    items = _within(others, new, layout, built.max_tokens)
    truncated = built.truncated or len(items) <= len(others) or new.share < 1
    return _written(built, items, layout, truncated=truncated, first=new.id)


def _passes(event: Event, built: BuiltContext) -> bool:
    """Whether the event passes the filters of the context, and was known at the time asked about (GATHER-4, GATHER-6): the gate
    asks for permission alone."""
    filters, when = built.filters, event.created_at
    if filters.kinds is not None or filters.tags is not None or {event.id, event.message_id} & filters.exclude:
        return False
    if filters.event_types is not None and event.type not in filters.event_types:
        return False
    if filters.session is not None and event.session != filters.session:
        return False
    if filters.task is not None and getattr(event, "task", None) != filters.task:
        return False
    until = [limit for limit in (filters.until, built.at) if limit is not None]
    return (filters.since is None or when >= filters.since) and all(when <= limit for limit in until)


def _layout(parts: Parts, built: BuiltContext) -> Format:
    engine, strategy, query = parts.engine, built.strategy, built.trace.query
    return open_format(
        strategy.format,
        tokenizer=engine.tokenizer(engine.catalog.find(built.model).tokenizer),
        nonce=nonce(engine.nonce_key, built.scope),
        zone=zone(built.scope.zone),
        terms=[] if query is None else [term.word for term in query.terms],
        details=strategy.details,
        shortening=strategy.shorten,
        recent=RECENT,
    )


def _chosen_event(candidate: Candidate, layout: Format, max_tokens: int) -> Chosen | None:
    """The event as it goes in: whole, else shortened to half of the budget, so that not everything else has to go; None where
    that says nothing."""
    parts = Breakdown(relevance=1.0, recency=1.0, usefulness=0.5, confidence=candidate.confidence, frequency=0.0)
    scored = Scored(candidate=candidate, score=1.0, log_odds=_CERTAIN_LOG_ODDS, breakdown=parts)
    header = layout.header(candidate)
    whole = Chosen(scored=scored, text=candidate.text, tokens=header + layout.cost(candidate, candidate.text))
    if layout.total("", (whole,)) <= max_tokens:
        return whole
    fixed = layout.fixed("")
    for limit in (max_tokens // 2 - fixed, max_tokens - fixed):
        short = layout.shorten(candidate._replace(required=True), limit)
        if short is None:
            continue
        tokens = header + layout.cost(candidate, short.text)
        new = Chosen(scored=scored, text=short.text, tokens=tokens, share=short.share)
        if layout.total("", (new,)) <= max_tokens:
            return new
    return None


def _shows_same_thing(item: Chosen, new: Chosen) -> bool:
    """Whether both show one thing (GATHER-3)."""
    one, other = item.scored.candidate, new.scored.candidate
    return one.id == other.id or (one.content_hash != 0 and one.content_hash == other.content_hash)


def _within(others: Sequence[Chosen], new: Chosen, layout: Format, max_tokens: int) -> list[Chosen]:
    """The items that fit beside the new one, counted on the text as written. What scores lowest goes first, of what scores
    alike the last, which was there before the others; what is required goes last."""
    places = sorted(range(len(others)), key=lambda at: (others[at].scored.candidate.required, others[at].score, -at))
    kept = [others[place] for place in places]
    gone = 0
    while gone < len(kept) and (tokens := layout.total("", [new, *kept[gone:]])) > max_tokens:
        excess = tokens - max_tokens
        while gone < len(kept) and excess > 0:  # far above the budget, several go before the next count, but none too many
            excess -= 2 * kept[gone].tokens + 16
            gone += 1
    return [new, *kept[gone:]]


def _unchanged(built: BuiltContext, kept: Sequence[Chosen], layout: Format, note: str) -> BuiltContext:
    """The context as it was, but for what may not be shown any more."""
    if len(kept) == len(built.items):
        return replace(built, note=note)
    return replace(_written(built, kept, layout, truncated=built.truncated), note=note)


def _written(
    built: BuiltContext, items: Sequence[Chosen], layout: Format, *, truncated: bool, first: str | None = None
) -> BuiltContext:
    written = layout.write("", tuple(items))
    by_id = {item.id: item for item in written.items}
    order = dict.fromkeys([*([] if first is None else [first]), *(each.source for each in built.components)])
    return replace(
        built,
        content=written.text if items else "",
        components=components_of(by_id[id] for id in order if id in by_id),
        token_count=layout.total("", tuple(items)) if items else 0,
        truncated=truncated,
        note="",
        items=written.items,
    )
