"""Activity source: what happened lately in the running session, and the highlights of the sessions before it (GRAPH-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType

from germane.events.event import Event
from germane.pipeline.gather.candidates import from_event, words_of
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Intent, Query
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

    def __init__(self, store: ScopedStore, intents: Mapping[Intent, Sequence[str]] = MappingProxyType({})) -> None:
        """`intents` says which event types matter to an intent; where it lacks one, `Query.event_types` does."""
        self._store, self._intents = store, intents

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        session, filters, events = self._store.scope.session, query.said_by_then, self._store.events
        latest: Sequence[Event] = ()
        if session is not None:
            latest = await events.recent(min(plan.limit, _LATEST), session=session, filters=filters)
        room = plan.limit - len(latest)
        earlier: Sequence[Event] = ()
        if room > 0 and filters.session is None:
            earlier = await events.highlights(_SESSIONS, limit=_HIGHLIGHTS, filters=filters, but=session)
        words, fitting = words_of(query), frozenset(self._intents.get(query.intent, query.event_types))
        evidence = (Evidence(history=_weight(event, turns, fitting)) for turns, event in enumerate(latest))
        found = [
            from_event(event, "events", each, at=query.at, words=words) for event, each in zip(latest, evidence, strict=True)
        ]
        for turns, event in enumerate(earlier[:room]):
            weak = Evidence(recent=_weight(event, turns, fitting), user=0.0)
            found.append(from_event(event, "events", weak, at=query.at, words=words))
        return found


def _weight(event: Event, turns: int, fitting: Set[str]) -> float:
    distance = turns * _FITTING if event.type in fitting else turns
    return float(0.5 ** (distance / _HALF_LIFE))
