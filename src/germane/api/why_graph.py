"""Why, of what works beside memories: says why a task, an entity, a relation, a pattern or a document isn't in a context."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from germane.api.why_block import not_searched
from germane.store import ScopedStore
from germane.types.query import Filters
from germane.types.trace import Trace
from germane.types.why import Why

__all__ = ["why_not_offered"]

_EVERYTHING = Filters(sensitivities=("public", "private", "sensitive"), with_history=True)


async def why_not_offered(id: str, store: ScopedStore, trace: Trace) -> Why | None:
    """The answer for such a thing that the trace doesn't name; None where the scope has none with this id."""
    if await store.tasks.frames([id]):
        said = (
            "it is a task: it isn't on the way to the current one, and no result that matters to it, or a filter keeps it out"
        )
        return _unread(id, "tasks", trace) or Why(id=id, outcome="not_reached", reason="tasks", text=said)
    if await store.graph.entities([id]):
        said = "it is an entity: the request doesn't name it and others are more salient, or a filter keeps it out"
        return _unread(id, "entities", trace) or Why(id=id, outcome="not_reached", reason="entities", text=said)
    if await store.documents.get(id) is not None:
        return _of_passages(id, trace)
    at = datetime.max.replace(tzinfo=UTC) if trace.query is None else trace.query.at
    if not await store.allowed([id], at=at, filters=_EVERYTHING):
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
