"""Archive search: finds archival entries and archival blocks, with the searches and the relevance model of memories (BLK-7)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from germane.api.arguments import build_request, number
from germane.api.wiring import Parts
from germane.blocks.entry import FoundEntry
from germane.pipeline.gather.source import Skipped
from germane.pipeline.gather.vector import with_vector
from germane.pipeline.signals.read import read
from germane.search.relevance import matrix
from germane.search.sigmoid import sigmoid
from germane.types.limits import PAGE, QUERY
from germane.types.limits import text as string
from germane.types.scope import Scope

__all__ = ["search_archive"]


async def search_archive(parts: Parts, scope: Scope, query: str, limit: int) -> tuple[FoundEntry, ...]:
    """See `MemoryBlocks.search_archive`."""
    number("limit", limit, minimum=1, maximum=PAGE.maximum)
    string("query", query, QUERY, valid=False)
    request = build_request(scope=scope, catalog=parts.catalog, clock=parts.clock, messages=(), model="any", query=query)
    asked = read(request)
    asked = replace(asked, filters=replace(asked.filters, kinds=("entry", "archival")))
    store = parts.store.within(scope)
    with suppress(Skipped):
        asked = await with_vector(asked, store, parts.engine.embedder, patience=None)
    if not asked.searchable:
        return ()
    found = await store.blocks.search(asked, limit, keywords=True, vectors=True, wait=True)
    if not found.hits:
        return ()
    odds = parts.engine.relevance.log_odds(matrix([hit.evidence for hit in found.hits]))
    chances = sigmoid(odds).tolist()
    scored = [FoundEntry(entry=hit.thing, relevance=chance) for hit, chance in zip(found.hits, chances, strict=True)]
    return tuple(sorted(scored, key=lambda one: -one.relevance))
