"""Activity source: what happened lately in the running session, and the highlights of the sessions before it (GRAPH-6)."""

from __future__ import annotations

from collections.abc import Sequence

from germane.events.event import Event
from germane.pipeline.gather.candidates import from_event, words_of
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["ActivitySource"]

_LATEST, _SESSIONS, _HIGHLIGHTS = 50, 5, 8
"""Events of the running session, earlier sessions, and highlights of one of them."""
_HALF_LIFE = 8
"""Events after which the evidence for being recent has fallen to a half."""
_FITTING = 0.5
"""By what the distance counts of an event whose type matters to the query's intent (SIG-2)."""


class ActivitySource:
    """The 50 latest events of the running session, messages included, newest first, and the highlights of the five latest
    sessions before it. An event of a type that matters to the query's intent counts as half as far back."""

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        session, filters, events = self._store.scope.session, query.said_by_then, self._store.events
        latest: Sequence[Event] = ()
        if session is not None:
            latest = await events.recent(min(plan.limit, _LATEST), session=session, filters=filters)
        room = plan.limit - len(latest)
        earlier: Sequence[Event] = ()
        if room > 0 and filters.session is None:
            earlier = await events.highlights(_SESSIONS, limit=_HIGHLIGHTS, filters=filters, but=session)
        words = words_of(query)
        evidence = (Evidence(history=_weight(event, turns, query)) for turns, event in enumerate(latest))
        found = [
            from_event(event, "events", each, at=query.at, words=words) for event, each in zip(latest, evidence, strict=True)
        ]
        for turns, event in enumerate(earlier[:room]):
            weak = Evidence(recent=_weight(event, turns, query), user=0.0)
            found.append(from_event(event, "events", weak, at=query.at, words=words))
        return found


def _weight(event: Event, turns: int, query: Query) -> float:
    distance = turns * _FITTING if event.type in query.event_types else turns
    return float(0.5 ** (distance / _HALF_LIFE))
