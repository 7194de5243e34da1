"""Messages: what was said in earlier conversations, by what is asked and by how lately it was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.pipeline.gather.candidates import from_event, verbatim
from germane.pipeline.gather.source import Skipped
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["Messages", "Recent"]

_HALF = 8
"""Turns after which being recent speaks half as loudly."""


class Messages:
    """Found by the query, with the evidence of their neighbours and their session. Nothing less likely than `min_relevance`
    is looked for, unless the query has words to be found to the letter: those speak for a message only when its text is at
    hand."""

    def __init__(self, store: ScopedStore, *, wait: bool = False, min_relevance: float = 0.0) -> None:
        self._store, self._wait, self._min_relevance = store, wait, min_relevance

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if query.blank and query.vector is None:
            raise Skipped("no_query")
        if not (query.identifiers or query.phrases):
            query = replace(query, min_relevance=self._min_relevance)
        hits = await self._store.events.search(query, plan.limit, keywords=plan.keywords, vectors=plan.vectors, wait=self._wait)
        return [from_event(hit.thing, "messages", verbatim(query, hit.thing.text, hit.evidence)) for hit in hits]


class Recent:
    """The latest of the latest sessions, whatever is asked."""

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        events = await self._store.events.recent(plan.limit, filters=query.filters)
        return [
            from_event(event, "recent", Evidence(recent=0.5 ** (turns / _HALF), user=0.0)) for turns, event in enumerate(events)
        ]
