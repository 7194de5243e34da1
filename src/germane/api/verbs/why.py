"""Why: one call of `why`: what an assembly did with one stored thing, from its trace, and else from the store."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import exp, inf
from typing import Any

from germane.api.contents import find_thing
from germane.api.wiring import Parts
from germane.dialects.registry import parse_all
from germane.errors import EmbedderError, InvalidInput, NotFound
from germane.kinds.blocks.field import label_key
from germane.kinds.blocks.reads import FirstNamed, SeenEntries
from germane.kinds.blocks.value import ArchivalEntry, Block, stored_id
from germane.kinds.documents.reads import DocumentIn
from germane.kinds.events.value import Event
from germane.kinds.graph.reads import SeenEntities
from germane.kinds.inventory import AllowedIds, TombstoneOf
from germane.kinds.memories.value import Memory
from germane.kinds.tasks.reads import FramesById
from germane.ports.models import Embedder
from germane.search.relevance import Relevance, matrix
from germane.stages.gather.candidates import from_event
from germane.stages.gather.merge import RequestContents, fresh
from germane.stages.gather.source import Skipped, with_vector
from germane.stores.contract import ScopedSearch, ScopedStore
from germane.types.candidate import SENSITIVITIES, Candidate
from germane.types.checks import check_optional_text, check_text
from germane.types.context import Context
from germane.types.evidence import Evidence, Found
from germane.types.limits import ID
from germane.types.query import Filters, Query
from germane.types.reports import LEFT_OUT_REASONS, Why
from germane.types.scope import Scope
from germane.types.trace import Trace

_REQUIRED_REASONS = ("pinned, or named by the strategy", "a block of every context, or named by the request")
_PROFILE_REASON = "a line of the profile"
_PROHIBITIVE_PRICE = 1e9
"""A price of a token at which a search reads next to no text."""
_MAX_UNITS = 1 << 24
"""More units than a scope has."""


async def explain_one(parts: Parts, scope: Scope, id: str, context: Context, session: str | None) -> Why:
    """See `Agent.why`."""
    check_optional_text("session", session, ID)
    check_text("id", id, ID)
    store = parts.store.within(scope)
    if not isinstance(context, Context):
        raise InvalidInput(f"must be a Context, as assemble returns it, not {type(context).__name__}", path="context")
    if (told := _told(id, context.trace)) is not None:
        return told
    try:
        thing = await find_thing(store, id)
    except NotFound as missing:
        if (block := await find_block(store, id)) is None:
            return await why_not_offered(id, store, context.trace) or await _missing(id, store, str(missing))
        query = context.trace.query
        return _told(block.id, context.trace) or why_not_there(block, context.trace, None if query is None else query.filters)
    if (told := _told(thing.id, context.trace)) is not None:
        return told
    query = context.trace.query
    if query is None:
        reason = context.metadata.fallback_reason or "cached"
        said = f"nothing was searched: the assembly ended with {reason}"
        return Why(id=thing.id, outcome="not_searched", reason=reason, text=said)
    source = "memories" if isinstance(thing, Memory) else "messages"
    kept_out = _ended(thing, query) or _filtered(thing, query.filters) or _contained(thing, context, session)
    kept_out = kept_out or not_searched(thing.id, source, context.trace)
    return kept_out or await _not_reached(thing, query, store, parts.engine.relevance, parts.embedder)


def _told(id: str, trace: Trace) -> Why | None:
    """What the trace says of the thing with exactly this id, or of the block with this label; None where it says nothing."""
    for item in trace.chosen:
        if _is(item.scored.candidate, id):
            block = item.scored.candidate.block is not None
            part = "" if item.share == 1 else f", {item.share:.0%} of its text"
            because = _PROFILE_REASON if item.scored.candidate.line is not None else _REQUIRED_REASONS[block]
            required = f" because it is required ({because})" if item.scored.candidate.required else ""
            return Why(
                id=id,
                outcome="injected",
                text=f"it went in{required} as {item.handle}{part}, for {item.tokens} tokens",
                rank=item.scored.rank,
                probability=item.scored.breakdown.relevance,
                tokens=item.tokens,
            )
    for left in trace.left_out:
        if _is(left.scored.candidate, id):
            return Why(
                id=id,
                outcome="left_out",
                reason=left.reason,
                text=f"it was a candidate, and {LEFT_OUT_REASONS[left.reason]}",
                rank=left.scored.rank,
                probability=left.scored.breakdown.relevance,
                tokens=left.tokens,
            )
    if any(id in (item.id, stored_id(item.id)) for injection in trace.earlier for item in injection.items):
        return Why(id=id, outcome="stands", text="it stands in the prompt already, in the text of an earlier turn")
    for unread in trace.unread:
        if unread.id == id:
            said = "it was found, and can't be worth its tokens at this effort: nobody read it"
            tokens, probability = unread.tokens, unread.probability
            return Why(id=id, outcome="unread", reason="price", text=said, probability=probability, tokens=tokens)
    return None


def _is(candidate: Candidate, name: str) -> bool:
    """Whether the candidate is the thing with this id, or the block with this label."""
    if candidate.category not in ("archival", "block", "task"):
        return candidate.id == name
    label = None if candidate.block is None else candidate.block.label
    return name in (candidate.id, stored_id(candidate.id), label)


async def _missing(id: str, store: ScopedStore, said: str) -> Why:
    stone = await store.ask(TombstoneOf(id))
    if stone is None:
        return Why(id=id, outcome="absent", text=said)
    who = f" by {stone.by}" if stone.by else ""
    why = f": {stone.reason}" if stone.reason else ""
    return Why(
        id=id,
        outcome="forgotten",
        reason=stone.reason,
        text=f"this {stone.what} was forgotten on {stone.at:%Y-%m-%d %H:%M} UTC{who}{why}",
        at=stone.at,
    )


def _ended(thing: Memory | Event, query: Query) -> Why | None:
    if isinstance(thing, Event) or query.filters.with_ended or thing.holds(query.at):
        return None
    asked = f"at the time asked about ({query.at:%Y-%m-%d %H:%M} UTC)"
    if thing.valid_from > query.at:
        said = f"it isn't valid yet {asked}: it begins {thing.valid_from:%Y-%m-%d %H:%M}"
        return Why(id=thing.id, outcome="ended", reason="valid_from", text=said, at=thing.valid_from)
    ends = [(end, name) for end, name in ((thing.valid_to, "valid_to"), (thing.expires_at, "expires_at")) if end is not None]
    at, name = min(ends)
    if thing.superseded_by is not None and name == "valid_to":
        said = f"{thing.superseded_by} superseded it on {at:%Y-%m-%d %H:%M} UTC"
        return Why(id=thing.id, outcome="ended", reason="superseded", text=said, at=at)
    verb = "expired" if name == "expires_at" else "was valid until"
    return Why(id=thing.id, outcome="ended", reason=name, text=f"it {verb} {at:%Y-%m-%d %H:%M} UTC, before {asked}", at=at)


def _filtered(thing: Memory | Event, filters: Filters) -> Why | None:
    """The first filter that the thing doesn't pass."""
    kind = thing.kind if isinstance(thing, Memory) else "message"
    session = thing.provenance.session if isinstance(thing, Memory) else thing.session
    message_id = thing.provenance.message_id if isinstance(thing, Memory) else thing.message_id
    tags = set(thing.tags) if isinstance(thing, Memory) else set[str]()
    kept_out = {
        "sensitivities": thing.sensitivity not in filters.sensitivities,
        "exclude": bool({thing.id, message_id} & filters.exclude),
        "since": filters.since is not None and thing.created_at < filters.since,
        "until": filters.until is not None and thing.created_at > filters.until,
        "kinds": filters.kinds is not None and not (isinstance(thing, Memory) and thing.kind in filters.kinds),
        "event_types": filters.event_types is not None and not (isinstance(thing, Event) and thing.type in filters.event_types),
        "tags": filters.tags is not None and not tags & set(filters.tags),
        "session": filters.session is not None and session != filters.session,
        "task": filters.task is not None and not (isinstance(thing, Event) and thing.task == filters.task),
    }
    for name, out in kept_out.items():
        if out:
            its = {"sensitivities": f"it is {thing.sensitivity}", "kinds": f"it is a {kind}"}
            said = f"the filter {name} keeps it out{': ' + its[name] if name in its else ''}"
            return Why(id=thing.id, outcome="filtered", reason=name, text=said)
    return None


def _contained(thing: Memory | Event, context: Context, session: str | None) -> Why | None:
    if isinstance(thing, Memory):
        return None
    said = RequestContents(parse_all(context.messages, context.provider))
    if fresh([from_event(thing, "messages", Evidence())], said, Filters(), session=session):
        return None
    return Why(id=thing.id, outcome="in_request", text="the request's own messages contain it already")


async def _not_reached(
    thing: Memory | Event, query: Query, store: ScopedStore, relevance: Relevance, embedder: Embedder
) -> Why:
    """Where it ranks among everything of its sort, without reading the texts."""
    with suppress(EmbedderError, Skipped):  # without a vector the words still tell
        query = await with_vector(query, store, embedder, patience=None)
    query = replace(query, embed=None, price=_PROHIBITIVE_PRICE, min_relevance=0.0)
    searched: ScopedSearch[Any] = store.memories if isinstance(thing, Memory) else store.events
    found: Found[Any] = await searched.search(query, _MAX_UNITS, keywords=True, vectors=True, wait=True)
    own, rank, ranked = await asyncio.to_thread(_rank, thing.id, found, relevance)  # of a large scope it takes a while
    if own == -inf:
        return Why(
            id=thing.id,
            outcome="not_reached",
            text="no search finds it: it has neither a word nor a meaning in common with the question",
        )
    probability = 1 / (1 + exp(min(60.0, -own)))
    sort = "memories" if isinstance(thing, Memory) else "messages"
    said = f"the search ended before it: it ranks {rank:,} of {ranked:,} {sort}, with P = {probability:.4f}"
    return Why(id=thing.id, outcome="not_reached", reason="depth", text=said, rank=rank, probability=probability)


def _rank(id: str, found: Found[Any], relevance: Relevance) -> tuple[float, int, int]:
    """The log odds of one thing (-inf where it wasn't found), its rank, and how many things were found."""
    odds = {one.id: one.log_odds for one in found.unread}
    if found.hits:
        read = relevance.log_odds(matrix([hit.evidence for hit in found.hits])).tolist()
        odds |= {hit.thing.id: value for hit, value in zip(found.hits, read, strict=True)}
    own = odds.get(id, -inf)
    return own, 1 + sum(other > own for other in odds.values()), len(odds)


# Why a memory block, or an entry of the archive, isn't in a context that doesn't name it.


async def find_block(store: ScopedStore, name: str) -> Block | ArchivalEntry | None:
    """Returns the block with this label or id, or the archival entry with this id; None where the scope sees none."""
    try:
        key = label_key(name)
    except InvalidInput:
        return None
    blocks = [block for block in await store.ask(FirstNamed([key])) if block.deleted_at is None]
    return blocks[0] if blocks else next(iter(await store.ask(SeenEntries([name]))), None)


def why_not_there(thing: Block | ArchivalEntry, trace: Trace, filters: Filters | None) -> Why:
    """Why the thing is no candidate in this trace."""
    if filters is not None and "private" not in filters.sensitivities:
        said = "the filter sensitivities keeps it out: it is private"
        return Why(id=thing.id, outcome="filtered", reason="sensitivities", text=said)
    if filters is not None and thing.id in filters.exclude:
        return Why(id=thing.id, outcome="filtered", reason="exclude", text="the filter exclude keeps it out")
    searched = isinstance(thing, ArchivalEntry) or thing.type == "archival"
    source = "archive" if searched else "blocks"
    if (unasked := not_searched(thing.id, source, trace)) is not None:
        return unasked
    if searched:
        return Why(
            id=thing.id, outcome="not_reached", reason="depth", text="the search of the archive found others, or nothing"
        )
    if not isinstance(thing, ArchivalEntry) and not thing.standing:
        kind = "isn't pinned" if thing.type == "working" else f"is of type {thing.type}"
        said = f"the block {kind}, and the request doesn't name it: give its label in `blocks`"
        return Why(id=thing.id, outcome="not_searched", reason="not_named", text=said)
    said = "when the blocks were read, it wasn't among those of every context"
    return Why(id=thing.id, outcome="not_searched", reason="changed", text=said)


def not_searched(id: str, source: str, trace: Trace) -> Why | None:
    """Why the source that would offer the thing offered nothing; None where it did its work."""
    report = next((report for report in trace.sources if report.name == source), None)
    if report is None:
        said = f"strategy {trace.strategy} has no source {source}"
        return Why(id=id, outcome="not_searched", reason="strategy", text=said)
    if report.status != "ok":
        reason = f"{report.status}:{report.reason}" if report.reason else report.status
        said = f"the source {source} found nothing for this answer: {reason}"
        return Why(id=id, outcome="not_searched", reason=reason, text=said)
    return None


# Why a task, an entity, a relation, a pattern or a document isn't in a context.


_EVERYTHING = Filters(sensitivities=SENSITIVITIES, with_ended=True)


async def why_not_offered(id: str, store: ScopedStore, trace: Trace) -> Why | None:
    """The answer for such a thing that the trace doesn't name; None where the scope has none with this id."""
    if await store.ask(FramesById((id,))):
        said = (
            "it is a task: it isn't on the way to the current one, and no result that matters to it, or a filter keeps it out"
        )
        return _unread(id, "tasks", trace) or Why(id=id, outcome="not_reached", reason="tasks", text=said)
    if await store.ask(SeenEntities([id])):
        said = "it is an entity: the request doesn't name it and others are more salient, or a filter keeps it out"
        return _unread(id, "entities", trace) or Why(id=id, outcome="not_reached", reason="entities", text=said)
    if await store.ask(DocumentIn(id)) is not None:
        return _of_passages(id, trace)
    at = datetime.max.replace(tzinfo=UTC) if trace.query is None else trace.query.at
    if not await store.ask(AllowedIds([id], at, _EVERYTHING)):
        return None
    # what else may be shown under an id of its own: relations, and patterns
    said = "it is a relation or a pattern: the request names none of its entities or words, it ended, or a filter keeps it out"
    unasked = _unread(id, "relations", trace) and _unread(id, "patterns", trace)
    return unasked or Why(id=id, outcome="not_reached", reason="relations", text=said)


def _unread(id: str, source: str, trace: Trace) -> Why | None:
    """As `not_searched`; the reason names the source where the strategy has none of that name."""
    why = not_searched(id, source, trace)
    return replace(why, reason=source) if why is not None and why.reason == "strategy" else why


def _of_passages(id: str, trace: Trace) -> Why:
    """The answer for a document, by its passages: those that went in, else those that were left out."""
    shown = [item for item in trace.chosen if item.scored.candidate.session == id]
    if shown:
        handles, tokens = ", ".join(item.handle for item in shown), sum(item.tokens for item in shown)
        said = f"it is a document: {len(shown)} of its passages went in, as {handles}"
        return Why(id=id, outcome="injected", text=said, rank=min(item.scored.rank for item in shown), tokens=tokens)
    out = [left for left in trace.left_out if left.scored.candidate.session == id]
    if out:
        best = min(out, key=lambda left: left.scored.rank)
        said = f"it is a document: {len(out)} of its passages were candidates and left out, the best for {best.reason}"
        return Why(id=id, outcome="left_out", reason=best.reason, text=said, rank=best.scored.rank, tokens=best.tokens)
    said = "it is a document: the search reached none of its passages, or a filter keeps them out"
    return _unread(id, "messages", trace) or Why(id=id, outcome="not_reached", reason="documents", text=said)
