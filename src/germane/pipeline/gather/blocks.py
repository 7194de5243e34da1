"""Block sources: the blocks of every context with those that the request names, and what a search of the archive finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from germane.blocks.reader import blocks_to_show
from germane.pipeline.gather.candidates import from_block, from_entry, offered
from germane.pipeline.gather.depth import EVERYTHING, SearchDepth
from germane.pipeline.gather.source import EmbeddingSource, Skipped
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.query import Filters, Query
from germane.types.strategy import SourcePlan
from germane.types.unread import Unread

__all__ = ["ArchiveSource", "BlockSource"]

_ARCHIVED = ("entry", "archival")
_ALL = (*_ARCHIVED, "block")


class BlockSource:
    """Core blocks, pinned working blocks, and those with the labels or ids in `named`: own ones by label, then shared ones. All
    are required, and shown as they are now, whatever time is asked about. Of the request's filters they obey sensitivities (a
    block is private) and excluded ids."""

    def __init__(self, store: ScopedStore, named: Sequence[str] = ()) -> None:
        self._store, self._named = store, named

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if "private" not in query.filters.sensitivities:
            return []
        found = await blocks_to_show(self._store.blocks, self._named)
        wanted = [block for block in found if block.id not in query.filters.exclude]
        if self._named:
            wanted.sort(key=lambda block: (block.shared_from is not None, block.label, block.user is None))
        return [from_block(block, "blocks", position) for position, block in enumerate(wanted[: plan.limit])]


class ArchiveSource(EmbeddingSource):
    """Archival entries and archival blocks found by the query, as memories are found; where the depth says so, blocks of every
    type, as far as they are indexed (`blocks/index.py`). They have no kind, tag or session, so a
    request that filters by one gets none. Waits for a partition that is still being loaded only with `wait`."""

    def __init__(self, store: ScopedStore, *, wait: bool = False, depth: SearchDepth = EVERYTHING) -> None:
        self._store, self._wait, self._depth = store, wait, depth

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        if not query.searchable:
            raise Skipped("no_query")
        filters = query.of_its_days(query.said_by_then)
        if _names_what_entries_lack(filters):
            return []
        kinds = _ALL if self._depth.blocks else _ARCHIVED
        asked = replace(self._depth.of_stated(query), filters=_of_kinds(filters, kinds))
        found = await self._store.blocks.search(
            asked, min(plan.limit, self._depth.max_stated), keywords=plan.keywords, vectors=plan.vectors, wait=self._wait
        )
        return offered(found, "archive", query, from_entry)


@lru_cache(maxsize=64)
def _of_kinds(filters: Filters, kinds: tuple[str, ...]) -> Filters:
    """Filters are checked when they are made, and most requests have the same."""
    return replace(filters, kinds=kinds)


def _names_what_entries_lack(filters: Filters) -> bool:
    return any(one is not None for one in (filters.kinds, filters.tags, filters.session, filters.event_types, filters.task))
