"""Built-in sources: makes the sources that a strategy plans, for one scoped store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from germane.kinds.tasks.value import TaskView
from germane.search.relevance import Relevance
from germane.stages.gather.graph import EntityLookup, EntitySource, PatternSource, RelationSource
from germane.stages.gather.memories import ArchiveSource, BlockSource, MemorySource, ProfileSource, StructuredSource
from germane.stages.gather.merge import RequestContents
from germane.stages.gather.messages import ContinuitySource, DaySource, HistorySource, MessageSource, RecentSource
from germane.stages.gather.session import ActivitySource, OutlineSource, TaskSource
from germane.stages.gather.source import EVERYTHING, BusySource, SearchDepth, Source, SourceFactory
from germane.stores.contract import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Unread
from germane.types.query import Query
from germane.types.strategy import SourcePlan, Strategy

SOURCES = (
    *("archive", "blocks", "continuity", "days", "directive", "entities", "events", "history", "memories", "messages"),
    *("outline", "patterns", "profile", "recent", "relations", "semantic", "structured", "tasks"),
)
"""Names of the built-in sources."""

NOT_SEARCHING = frozenset(
    {"blocks", "continuity", "directive", "events", "history", "outline", "profile", "recent", "structured", "tasks"}
)
"""Sources that offer the same candidates whatever the question is. A search leaves them out: what is pinned is found if it
answers the question. An outline has no text that the messages don't have."""


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
    """The sources that the strategy plans, by name; a registered source replaces the built-in source of its name. The directive
    isn't a source here, as it is no candidate.

    `said` is what the request holds already. With `wait`, sources wait for a partition that is still being loaded. `depth` says
    how far down a search has to look, `blocks` which blocks the request names; `tasks` returns what was read of its task stack.
    `relevance` tells how probable it is that a line of an outline is what the question is about.
    Without `searching`, for want of time, the sources that search are replaced by `BusySource`.
    """
    made: dict[str, Source] = {}
    lookup = EntityLookup(store, strategy.entity_types)
    planned = {plan.name for plan in strategy.sources if plan.limit > 0}
    for plan in strategy.sources:
        if plan.name in registered:
            made[plan.name] = _RegisteredSource(registered[plan.name], store)
            continue
        match plan.name:
            case "archive" | "memories" | "messages" | "outline" | "semantic" if not searching:
                made[plan.name] = BusySource()
            case "memories" | "semantic":
                made[plan.name] = MemorySource(store, plan.name, wait=wait, depth=depth)
            case "archive":
                made[plan.name] = ArchiveSource(store, wait=wait, depth=depth)
            case "blocks":
                made[plan.name] = BlockSource(store, blocks)
            case "profile":
                made[plan.name] = ProfileSource(store)
            case "structured":
                made[plan.name] = StructuredSource(store, strategy.fact_keys, strategy.tags)
            case "messages":
                made[plan.name] = MessageSource(store, said, wait=wait, depth=depth, beside_days="days" in planned)
            case "days":
                made[plan.name] = DaySource(store, wait=wait)
            case "outline":
                made[plan.name] = OutlineSource(store, relevance, wait=wait)
            case "recent":
                made[plan.name] = RecentSource(store)
            case "continuity":
                made[plan.name] = ContinuitySource(store, said)
            case "tasks":
                made[plan.name] = TaskSource(store, tasks)
            case "history":
                made[plan.name] = HistorySource(store)
            case "events":
                made[plan.name] = ActivitySource(store, strategy.intents)
            case "entities":
                made[plan.name] = EntitySource(lookup)
            case "relations":
                made[plan.name] = RelationSource(store, lookup, depth=strategy.depth, fan_out=strategy.fan_out)
            case "patterns":
                made[plan.name] = PatternSource(store, lookup)
    return made
