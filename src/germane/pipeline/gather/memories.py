"""Memory sources: typed memories found by the query, and those named by the strategy (pinned, fact keys, tags)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.pipeline.gather.candidates import from_memory, offered
from germane.pipeline.gather.depth import EVERYTHING, SearchDepth
from germane.pipeline.gather.source import EmbeddingSource, Skipped
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan
from germane.types.unread import Unread

__all__ = ["MemorySource", "StructuredSource"]


class MemorySource(EmbeddingSource):
    """Memories found by the query, by keywords and by vector. Waits for a partition that is still being loaded only with
    `wait`; without it, the search raises `Warming`. Of those that can't be worth their tokens, by `depth`, no text is read."""

    def __init__(
        self, store: ScopedStore, name: str = "memories", *, wait: bool = False, depth: SearchDepth = EVERYTHING
    ) -> None:
        self._store, self._name, self._wait, self._depth = store, name, wait, depth

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        if not query.searchable:
            raise Skipped("no_query")
        asked = replace(self._depth.of_stated(query), filters=query.of_its_days(query.filters))
        found = await self._store.memories.search(
            asked, min(plan.limit, self._depth.max_stated), keywords=plan.keywords, vectors=plan.vectors, wait=self._wait
        )
        return offered(found, self._name, query, from_memory)


class StructuredSource:
    """Pinned memories, the newest fact of each key the strategy lists, and memories with one of its tags. All are required:
    they are packed before anything else."""

    def __init__(self, store: ScopedStore, fact_keys: Sequence[str] = (), tags: Sequence[str] = ()) -> None:
        self._store, self._fact_keys, self._tags = store, fact_keys, tags

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        found = await self._store.memories.pinned(self._fact_keys, self._tags, at=query.at, filters=query.filters)
        evidence = Evidence(structured=1.0)
        wanted = enumerate(found[: plan.limit])
        return [from_memory(memory, "structured", evidence, required=True, position=place) for place, memory in wanted]
