"""Why, of the graph: says why an entity wasn't among the candidates of an assembly."""

from __future__ import annotations

from germane.store import ScopedStore
from germane.types.trace import Trace
from germane.types.why import Why

__all__ = ["why_not_offered"]


async def why_not_offered(id: str, store: ScopedStore, trace: Trace) -> Why | None:
    """The answer for an entity that the trace doesn't name; None where the scope has no entity with this id."""
    if not await store.graph.entities([id]):
        return None
    report = next((one for one in trace.sources if one.name == "entities"), None)
    if report is None:
        said = f"it is an entity, and the strategy {trace.strategy!r} has no source 'entities'"
        return Why(id=id, outcome="not_searched", reason="entities", text=said)
    if report.status != "ok":
        reason = report.reason or report.status
        return Why(id=id, outcome="not_searched", reason=reason, text=f"it is an entity, and these weren't read: {reason}")
    said = "it is an entity: the request doesn't name it and others are more salient, or a filter keeps it out"
    return Why(id=id, outcome="not_reached", reason="entities", text=said)
