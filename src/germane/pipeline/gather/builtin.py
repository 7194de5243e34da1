"""The sources that germane brings, made for one scoped store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from germane.pipeline.gather.history import History
from germane.pipeline.gather.memories import Memories, Structured
from germane.pipeline.gather.messages import Messages, Recent
from germane.pipeline.gather.source import Busy, Source, SourceFactory
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.query import Query
from germane.types.strategy import SourcePlan, Strategy

__all__ = ["SOURCES", "sources"]

SOURCES = ("directive", "history", "memories", "messages", "recent", "structured")


class _Registered:
    """A user's source, made when it is asked: a factory that fails is a source that fails."""

    def __init__(self, factory: SourceFactory, store: ScopedStore) -> None:
        self._factory, self._store = factory, store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        return await self._factory(self._store).gather(query, plan)


def sources(
    store: ScopedStore,
    strategy: Strategy,
    registered: Mapping[str, SourceFactory],
    *,
    wait: bool,
    min_relevance: float = 0.0,
    searching: bool = True,
) -> dict[str, Source]:
    """The sources that the strategy plans, by name; a registered one takes the place of a built-in of its name. The directive
    isn't among them: it is no candidate. With `wait` they wait for what isn't in memory yet; what is less likely relevant than
    `min_relevance` they needn't bring. Without `searching` those that search are skipped: there isn't the time."""
    made: dict[str, Source] = {}
    for plan in strategy.sources:
        if plan.name in registered:
            made[plan.name] = _Registered(registered[plan.name], store)
            continue
        match plan.name:
            case "memories" | "messages" if not searching:
                made[plan.name] = Busy()
            case "memories":
                made[plan.name] = Memories(store, wait=wait)
            case "structured":
                made[plan.name] = Structured(store, strategy.fact_keys, strategy.tags)
            case "messages":
                made[plan.name] = Messages(store, wait=wait, min_relevance=min_relevance)
            case "recent":
                made[plan.name] = Recent(store)
            case "history":
                made[plan.name] = History(store)
    return made
