"""Archive search: finds archival entries and blocks, with the searches and the relevance model of memories (BLK-7)."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace

from germane.api.arguments import build_request, number
from germane.api.wiring import Parts
from germane.blocks.entry import FoundBlock, FoundEntry
from germane.blocks.index import index_blocks
from germane.errors import StoreError
from germane.pipeline.gather.source import Skipped
from germane.pipeline.gather.vector import with_vector
from germane.pipeline.signals.read import read
from germane.search.relevance import matrix
from germane.search.sigmoid import sigmoid
from germane.types.limits import PAGE, QUERY
from germane.types.limits import text as string
from germane.types.scope import Scope

__all__ = ["index_all", "search_archive", "search_blocks"]

_LOG = logging.getLogger("germane.blocks")


async def search_archive(parts: Parts, scope: Scope, query: str, limit: int) -> tuple[FoundEntry, ...]:
    """See `MemoryBlocks.search_archive`."""
    return await _search(parts, scope, query, limit, ("entry", "archival"))


async def search_blocks(parts: Parts, scope: Scope, query: str, limit: int) -> tuple[FoundBlock, ...]:
    """See `MemoryBlocks.search`."""
    number("limit", limit, minimum=1, maximum=PAGE.maximum)
    string("query", query, QUERY, valid=False)
    await index_all(parts, scope)
    found = await _search(parts, scope, query, limit, ("archival", "block"))
    wanted = {one.entry.id: one.relevance for one in found}
    blocks = await parts.store.within(scope).blocks.named(list(wanted)) if wanted else ()
    return tuple(
        FoundBlock(block=one, relevance=wanted[one.id]) for one in blocks if one.deleted_at is None and one.id in wanted
    )


async def index_all(parts: Parts, scope: Scope) -> None:
    """Makes all blocks of the scope searchable as they are now. A store that is only read, or can't be written, stays as it is:
    a block that was edited since the last search isn't found there."""
    store = parts.store.within(scope)
    if parts.store.read_only or await store.blocks.indexed():
        return
    try:
        while await store.journal.commit(index_blocks()):
            pass
    except StoreError as error:
        _LOG.warning("blocks that were edited can't be searched: %s", error)
        return
    if not parts.embedder.quick:
        await parts.catch_up.settle()


async def _search(parts: Parts, scope: Scope, query: str, limit: int, kinds: tuple[str, ...]) -> tuple[FoundEntry, ...]:
    number("limit", limit, minimum=1, maximum=PAGE.maximum)
    string("query", query, QUERY, valid=False)
    request = build_request(scope=scope, catalog=parts.catalog, clock=parts.clock, messages=(), model="any", query=query)
    asked = read(request)
    asked = replace(asked, filters=replace(asked.filters, kinds=kinds))
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
