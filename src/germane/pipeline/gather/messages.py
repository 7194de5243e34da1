"""Message sources: stored messages found by the query, the latest ones, and those of the running session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.pipeline.gather.candidates import from_event, verbatim
from germane.pipeline.gather.depth import EVERYTHING, SearchDepth
from germane.pipeline.gather.source import Skipped
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["HistorySource", "MessageSource", "RecentSource"]

_HALF_LIFE = 8
"""Turns after which the evidence for being recent has fallen to a half."""


class MessageSource:
    """Messages found by the query, with evidence from their neighbours and their session.

    The search looks as far down as `depth` says; where the query has identifiers or quoted phrases, up to the number of items
    alone, as an exact match of those shows only in a message's text.
    """

    def __init__(self, store: ScopedStore, *, wait: bool = False, depth: SearchDepth = EVERYTHING) -> None:
        self._store, self._wait, self._depth = store, wait, depth

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if query.blank and query.vector is None:
            raise Skipped("no_query")
        if not (query.identifiers or query.phrases):
            query = replace(query, min_relevance=self._depth.min_relevance, min_share=self._depth.min_share)
        limit = min(plan.limit, self._depth.max_items)
        hits = await self._store.events.search(query, limit, keywords=plan.keywords, vectors=plan.vectors, wait=self._wait)
        return [from_event(hit.thing, "messages", verbatim(query, hit.thing.text, hit.evidence)) for hit in hits]


class RecentSource:
    """The latest messages of the latest sessions, whatever the query."""

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        events = await self._store.events.recent(plan.limit, filters=query.filters)
        return [
            from_event(event, "recent", Evidence(recent=0.5 ** (turns / _HALF_LIFE), user=0.0))
            for turns, event in enumerate(events)
        ]


class HistorySource:
    """The latest messages of the running session that are stored, newest with the strongest evidence (GATHER-2a). Messages that
    the request itself holds count as turns too; `merge.fresh` removes them afterwards, as it does for every source."""

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        session = self._store.scope.session
        if session is None:
            raise Skipped("no_session")
        events = await self._store.events.recent(plan.limit, session=session, filters=query.filters)
        return [
            from_event(event, "history", Evidence(history=0.5 ** (turns / _HALF_LIFE))) for turns, event in enumerate(events)
        ]
