"""Context update: adds one event to a built context, without another search (ENGINE-7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.api.context_build import ADDITIONAL, components_of
from germane.api.identify import find_thing
from germane.api.wiring import Parts
from germane.clock import zone
from germane.errors import InvalidInput
from germane.events.event import Event
from germane.pipeline.format.layout import Format
from germane.pipeline.format.named import open_format
from germane.pipeline.format.nonce import nonce
from germane.pipeline.gather.candidates import from_event
from germane.types.built_context import BuiltContext
from germane.types.candidate import Breakdown, Candidate, Chosen, Scored
from germane.types.evidence import Evidence

__all__ = ["update_context"]

_CERTAIN = 20.0
"""Log-odds of an event that has just happened: its score is 1."""


async def update_context(parts: Parts, built: BuiltContext, event: str) -> BuiltContext:
    """Returns the context with the stored event of this id, as it may be shown now, and without what may not be shown any more.
    Deterministic and idempotent. Raises `NotFound`, `InvalidInput`."""
    store = parts.store.within(built.scope)
    found = await find_thing(store, event)
    if not isinstance(found, Event):
        raise InvalidInput(f"{event!r} is a memory, and an update adds events: build anew, and it is found")
    own = {*parts.engine.sources, ADDITIONAL}
    stored = [item.id for item in built.items if not item.scored.candidate.only_from(own)]
    at = built.at or parts.clock.now()
    allowed = await store.allowed([*stored, found.id], at=at, filters=built.filters)
    order = {component.source: place for place, component in enumerate(built.components)}
    kept = [item for item in built.items if item.id in allowed or item.id not in stored]
    kept.sort(key=lambda item: order[item.id])
    layout = _layout(parts, built)
    if found.id not in allowed or not _passes(found, built):
        return _unchanged(built, kept, layout, "the filters of this context don't allow the event")
    new = _newest(from_event(found, "recent", Evidence(recent=1.0), at=at), layout, built.max_tokens)
    if new is None:
        return _unchanged(built, kept, layout, f"the event doesn't fit into {built.max_tokens} tokens, not even shortened")
    others = [item for item in kept if not _same(item, new)]
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
    )


def _newest(candidate: Candidate, layout: Format, max_tokens: int) -> Chosen | None:
    """The event as it goes in: whole, else shortened to half of the budget, so that not everything else has to go; None where
    that says nothing."""
    parts = Breakdown(relevance=1.0, recency=1.0, usefulness=0.5, confidence=candidate.confidence, frequency=0.0)
    scored = Scored(candidate=candidate, score=1.0, log_odds=_CERTAIN, breakdown=parts)
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


def _same(item: Chosen, new: Chosen) -> bool:
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
