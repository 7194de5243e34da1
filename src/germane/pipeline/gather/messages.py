"""Message sources: stored messages found by the query, the latest ones, and those of the running session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from germane.pipeline.gather.candidates import from_event, offered, words_of
from germane.pipeline.gather.depth import EVERYTHING, SearchDepth
from germane.pipeline.gather.merge import RequestContents, fresh
from germane.pipeline.gather.source import EmbeddingSource, Skipped
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan
from germane.types.unread import Unread

__all__ = ["HistorySource", "MessageSource", "RecentSource"]

_MEASURE = 10
"""The best results that are looked at to tell whether the request holds them already."""
_HALF_LIFE = 8
"""Turns after which the evidence for being recent has fallen to a half."""


class MessageSource(EmbeddingSource):
    """Messages found by the query, with evidence from their neighbours and their session.

    The search looks as far down as `depth` says; where the query has identifiers or quoted phrases, up to the number of items
    alone, as an exact match of those shows only in a message's text. With `beside_days`, a request for nothing but what was on
    some days is left to the source of those.
    """

    def __init__(
        self,
        store: ScopedStore,
        said: RequestContents,
        *,
        wait: bool = False,
        depth: SearchDepth = EVERYTHING,
        beside_days: bool = False,
    ) -> None:
        self._store, self._said, self._wait, self._depth, self._beside_days = store, said, wait, depth, beside_days

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        if not query.searchable:
            raise Skipped("no_query")
        if self._beside_days and query.only_days:
            raise Skipped("only_days")
        query = replace(query, filters=query.of_its_days(query.said_by_then))
        limit = min(plan.limit, self._depth.max_items)
        found = await self._search(self._depth.of_messages(query), limit, plan)
        if any(isinstance(one, Unread) for one in found) and self._mostly_said(found, query):
            found = await self._search(replace(self._depth.of_messages(query), price=0.0), limit, plan)
        return found

    async def _search(self, query: Query, limit: int, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        found = await self._store.events.search(query, limit, keywords=plan.keywords, vectors=plan.vectors, wait=self._wait)
        return offered(found, "messages", query, partial(from_event, at=query.at, words=words_of(query)))

    def _mostly_said(self, found: Sequence[Candidate | Unread], query: Query) -> bool:
        """Whether the best results, by which the others were measured, stand in the request already. Those of the running
        session don't count, as the search knows them."""
        session = self._store.scope.session
        best = [one for one in found if isinstance(one, Candidate) and (session is None or one.session != session)][:_MEASURE]
        return 2 * len(fresh(best, self._said, query.filters, session=session)) < len(best)


class RecentSource:
    """The latest messages of the latest sessions, whatever the query."""

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        events = await self._store.events.recent(plan.limit, filters=query.said_by_then, typed=False)
        return [
            from_event(event, "recent", Evidence(recent=0.5 ** (turns / _HALF_LIFE), user=0.0), at=query.at)
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
        events = await self._store.events.recent(plan.limit, session=session, filters=query.filters, typed=False)
        return [
            from_event(event, "history", Evidence(history=0.5 ** (turns / _HALF_LIFE)), at=query.at)
            for turns, event in enumerate(events)
        ]
