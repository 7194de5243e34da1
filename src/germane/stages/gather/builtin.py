"""Built-in sources: their list, what the other stages must know of them, and those that a strategy plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from germane.kinds.tasks.value import TaskView
from germane.search.relevance import Relevance
from germane.stages.gather.graph import EntityLookup, EntitySource, PatternSource, RelationSource
from germane.stages.gather.memories import PROFILE, ArchiveSource, BlockSource, MemorySource, ProfileSource, StructuredSource
from germane.stages.gather.merge import RequestContents
from germane.stages.gather.messages import ContinuitySource, DaySource, HistorySource, MessageSource, RecentSource
from germane.stages.gather.session import ActivitySource, OutlineSource, TaskSource
from germane.stages.gather.source import (
    EVERYTHING,
    BuiltInSource,
    BusySource,
    EmbeddingSource,
    SearchDepth,
    Source,
    SourceFactory,
    SourceParts,
)
from germane.stores.contract import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Unread
from germane.types.query import Query
from germane.types.strategy import SourcePlan, Strategy

SOURCES: Mapping[str, type[BuiltInSource]] = MappingProxyType(
    {
        "archive": ArchiveSource,
        "blocks": BlockSource,
        "continuity": ContinuitySource,
        "days": DaySource,
        "entities": EntitySource,
        "events": ActivitySource,
        "history": HistorySource,
        "memories": MemorySource,
        "messages": MessageSource,
        "outline": OutlineSource,
        "patterns": PatternSource,
        PROFILE: ProfileSource,
        "recent": RecentSource,
        "relations": RelationSource,
        "semantic": MemorySource,
        "structured": StructuredSource,
        "tasks": TaskSource,
    }
)
"""The built-in sources by name. A strategy plans the directive beside them, which is no candidate."""
STANDING = frozenset({"directive", *(name for name, source in SOURCES.items() if source.nature.standing)})
"""Sources that offer the same candidates whatever the question is."""
DEEP = frozenset(name for name, source in SOURCES.items() if source.nature.deep)
"""Sources that look as far down as the depth says."""
RECENT = frozenset(name for name, source in SOURCES.items() if source.nature.offers == "recent")
"""Sources of what happened lately."""
FOUND = frozenset(name for name, source in SOURCES.items() if source.nature.offers == "found")
"""Sources of what was found for the query or by name."""
WITHOUT_VECTOR = frozenset(
    {"directive", *(name for name, source in SOURCES.items() if not issubclass(source, EmbeddingSource))}
)
"""Sources that don't use the query's vector."""
NOTHING_TO_OFFER = frozenset(reason for source in SOURCES.values() for reason in source.nature.without)
"""Reasons of a skipped source that has nothing to offer: the answer is complete without it."""


class _RegisteredSource:
    """A user's source. Its factory is called on `gather`, so that an exception of the factory is a failure of the source."""

    def __init__(self, factory: SourceFactory, store: ScopedStore) -> None:
        self._factory, self._store = factory, store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        return await self._factory(self._store).gather(query, plan)


def sources(
    store: ScopedStore,
    strategy: Strategy,
    registered: Mapping[str, SourceFactory],
    *,
    wait: bool,
    said: RequestContents,
    depth: SearchDepth = EVERYTHING,
    searching: bool = True,
    blocks: Sequence[str] = (),
    tasks: Callable[[], TaskView | None] = lambda: None,
    relevance: Relevance,
) -> dict[str, Source]:
    """The sources that the strategy plans, by name; a registered source replaces the built-in source of its name. Without
    `searching`, for want of time, the sources that search are replaced by `BusySource`. See `SourceParts` for the others."""
    parts = SourceParts(
        store=store,
        strategy=strategy,
        said=said,
        relevance=relevance,
        lookup=EntityLookup(store, strategy.entity_types),
        wait=wait,
        depth=depth,
        named_blocks=blocks,
        tasks=tasks,
    )
    made: dict[str, Source] = {}
    for plan in strategy.sources:
        if plan.name in registered:
            made[plan.name] = _RegisteredSource(registered[plan.name], store)
        elif (source := SOURCES.get(plan.name)) is not None:
            busy = not searching and issubclass(source, EmbeddingSource)
            made[plan.name] = BusySource() if busy else source.planned(plan, parts)
    return made
