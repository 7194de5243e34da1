"""History: what the running session has stored and the request leaves out (GATHER-2a)."""

from __future__ import annotations

from collections.abc import Sequence

from germane.pipeline.gather.candidates import from_event
from germane.pipeline.gather.source import Skipped
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["History"]

_HALF = 8
"""Turns back after which a turn of the running session speaks half as loudly."""


class History:
    """The latest turns of this session, newest loudest. What the request already holds is taken out afterwards, for all
    sources alike; so the count of turns back includes it."""

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        session = self._store.scope.session
        if session is None:
            raise Skipped("no_session")
        events = await self._store.events.recent(plan.limit, session=session, filters=query.filters)
        return [from_event(event, "history", Evidence(history=0.5 ** (turns / _HALF))) for turns, event in enumerate(events)]
