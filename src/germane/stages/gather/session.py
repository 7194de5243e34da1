"""Session sources: the activity of sessions, the task stack of the running one, and outlines.

What happened lately comes from the running session, and highlights come from the sessions before it (GRAPH-6). The task stack
is the root goal, the current task, the tasks above it, results, and the task's activity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from germane.kinds.conversations.outline import OUTLINE, OutlineLine, line_hash, outline_name
from germane.kinds.conversations.reads import LatestLines
from germane.kinds.events.reads import LatestHighlights, RecentEvents, SeenEvents
from germane.kinds.events.value import Event
from germane.kinds.tasks.value import TASK_CATEGORY, TaskFrame, TaskView, shown_task, task_hash, task_text
from germane.search.find import by_marginal_relevance
from germane.search.relevance import Relevance, matrix, sigmoid
from germane.stages.gather.candidates import from_event, words_of
from germane.stages.gather.source import EmbeddingSource, Skipped, Source, SourceNature, SourceParts
from germane.stores.contract import ScopedStore
from germane.text.terms import analyse
from germane.types.candidate import Candidate, Provenance
from germane.types.evidence import Evidence
from germane.types.query import Intent, Query
from germane.types.strategy import SourcePlan

_MAX_LATEST, _MAX_SESSIONS, _MAX_HIGHLIGHTS = 50, 5, 8
"""Events of the running session, earlier sessions, and highlights of one of them."""
_HALF_LIFE = 8
"""Events after which the evidence for being recent has fallen to a half."""
_FITTING_FACTOR = 0.5
"""By what the distance counts of an event whose type matters to the query's intent (SIG-2)."""


class ActivitySource:
    """The 50 latest events of the running session, messages included, newest first, and the highlights of the five latest
    sessions before it. An event of a type that matters to the query's intent counts as half as far back."""

    nature: ClassVar = SourceNature(standing=True, offers="recent")

    def __init__(self, store: ScopedStore, intents: Mapping[Intent, Sequence[str]] = MappingProxyType({})) -> None:
        """`intents` says which event types matter to an intent; where it lacks one, `Query.event_types` does."""
        self._store, self._intents = store, intents

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, parts.strategy.intents)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        session, filters = self._store.scope.session, query.said_by_then
        latest: Sequence[Event] = ()
        if session is not None:
            asked = RecentEvents(min(plan.limit, _MAX_LATEST), session=session, filters=filters)
            latest = await self._store.ask(asked)
        room = plan.limit - len(latest)
        earlier: Sequence[Event] = ()
        if room > 0 and filters.session is None:
            told = LatestHighlights(_MAX_SESSIONS, limit=_MAX_HIGHLIGHTS, filters=filters, but=session)
            earlier = await self._store.ask(told)
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
    distance = turns * _FITTING_FACTOR if event.type in fitting else turns
    return float(0.5 ** (distance / _HALF_LIFE))


# The frames of the task stack, and the activity of the current task.


_MAX_TASK_EVENTS = 30
"""Events of the current task that are offered, the latest."""
_TASK_HALF_LIFE = 8
"""Events after which the evidence for being recent has fallen to a half."""


class TaskSource:
    """Offers the frames of a view as required candidates, in the order in which they are written, and the latest events of the
    current task as others (TASK-2). `read` returns the view, None where no task is open, or raises what reading it raised."""

    nature: ClassVar = SourceNature(standing=True, without={"no_session", "no_task"})

    def __init__(self, store: ScopedStore, read: Callable[[], TaskView | None]) -> None:
        self._store, self._read = store, read

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, parts.tasks)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if self._store.scope.session is None:
            raise Skipped("no_session")
        view = self._read()
        if view is None:
            raise Skipped("no_task")
        frames = [one for one in _frames(view) if one.id not in query.filters.exclude][: plan.limit]
        return [*frames, *await self._activity(view, query)]

    async def _activity(self, view: TaskView, query: Query) -> list[Candidate]:
        filters = replace(query.said_by_then, task=view.current.id)
        events = await self._store.ask(RecentEvents(_MAX_TASK_EVENTS, session=self._store.scope.session, filters=filters))
        return [
            from_event(event, "tasks", Evidence(history=0.5 ** (turns / _TASK_HALF_LIFE)), at=query.at)
            for turns, event in enumerate(events)
            if view.holds(event.task, event.created_at)
        ]


def _frames(view: TaskView) -> list[Candidate]:
    """Each frame once, in the order in which they are written: from the root down to the results, the current task last."""
    above = [(frame, "above") for frame in reversed(view.ancestors)]
    results = [(frame, "result") for frame in view.results]
    current = [(view.current, "current")] if view.current.id != view.root.id else []
    role = "root" if current else "current"
    listed = [(view.root, role), *above, *results, *current]
    return [_frame_candidate(frame, role, position, view.moves) for position, (frame, role) in enumerate(listed)]


def _frame_candidate(frame: TaskFrame, role: str, position: int, moves: int) -> Candidate:
    name = shown_task(frame, moves if role == "current" else None)
    return Candidate(
        id=name,
        source="tasks",
        category=TASK_CATEGORY,
        text=task_text(frame, role),
        created_at=frame.updated_at,
        kinds=(TASK_CATEGORY, f"task_{role}"),
        evidence=Evidence(),
        sensitivity=frame.sensitivity,
        required=True,
        session=frame.session,
        position=position,
        content_hash=task_hash(name),
        provenance=frame.provenance,
    )


# The lines of the sessions' outlines, for requests of a summary or of an order of events (HIST-5). A summary wants a
# little of much, and no search finds much: it finds what is like the question. So the lines are ordered by marginal
# relevance: by what a search finds of their exchanges, and by what each line adds to those before it.


_MAX_LINES_READ = 1_000
"""The latest lines that are looked at."""
_MAX_FOUND = 130
"""Messages that are searched for, to tell what a line is about."""
_FIRST_EVIDENCE, _LAST_EVIDENCE = 0.95, 0.05
"""The evidence of the first line, and of the last one that the limit allows."""


class OutlineSource(EmbeddingSource):
    """Lines of outlines, where the request asks for a summary, an overview or an order of events. An exchange of one message
    has no line here, as the message says it already. A line and its first message are one thing, of which one form is shown; so
    a line whose first message the request holds isn't offered. A search has no use for it: an outline has no text that the
    messages don't have."""

    nature: ClassVar = SourceNature(standing=True, without={"no_overview"})

    def __init__(self, store: ScopedStore, relevance: Relevance, *, wait: bool = False) -> None:
        self._store, self._relevance, self._wait = store, relevance, wait

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, parts.relevance, wait=parts.wait)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if not query.broad:
            raise Skipped("no_overview")
        latest, likely = await asyncio.gather(
            self._store.ask(LatestLines(_MAX_LINES_READ, filters=query.of_its_days(query.said_by_then))),
            self._search(query, plan),
        )
        lines = [line for line in latest if line.messages > 1 and line.text]
        if not lines:
            return []
        order = await asyncio.to_thread(_ordered, lines, likely, plan.limit)
        events = {event.id: event for event in await self._store.ask(SeenEvents([lines[index].first_id for index in order]))}
        steps = np.linspace(_FIRST_EVIDENCE, _LAST_EVIDENCE, plan.limit)[: len(order)].tolist()
        return [
            _outline_candidate(lines[index], events[lines[index].first_id], Evidence(outline=step))
            for index, step in zip(order, steps, strict=True)
            if lines[index].first_id in events
        ]

    async def _search(self, query: Query, plan: SourcePlan) -> Mapping[str, float]:
        """How likely each message is what the question is about, by id."""
        if not query.searchable:
            return {}
        asked = replace(query, filters=query.of_its_days(query.said_by_then), texts=False)
        found = await self._store.events.search(
            asked, _MAX_FOUND, keywords=plan.keywords, vectors=plan.vectors, wait=self._wait
        )
        likely = {one.id: one.probability for one in found.unread}
        if found.hits:  # of a store that reads texts all the same
            odds = self._relevance.log_odds(matrix([hit.evidence for hit in found.hits]))
            likely |= zip((hit.thing.id for hit in found.hits), sigmoid(odds).tolist(), strict=True)
        return likely


def _ordered(lines: Sequence[OutlineLine], likely: Mapping[str, float], limit: int) -> list[int]:
    """The indexes of the lines to offer, the best first. Takes tens of milliseconds for a thousand lines."""
    return by_marginal_relevance(_about(lines, likely), [frozenset(analyse(line.text)) for line in lines], limit)


def _about(lines: Sequence[OutlineLine], likely: Mapping[str, float]) -> list[float]:
    """How much each line is about the question: the root of the probability of its exchange's first or last message, over that
    of the best."""
    best = [max(likely.get(line.first_id, 0.0), likely.get(line.last_id, 0.0)) ** 0.5 for line in lines]
    most = max(best)
    return [one / most for one in best] if most > 0 else best


def _outline_candidate(line: OutlineLine, event: Event, evidence: Evidence) -> Candidate:
    """A candidate of a line; `event` is the first message of its exchange."""
    said = from_event(event, OUTLINE, evidence)
    share = min(1.0, len(line.text) / max(1, len(event.text)))
    about = {"extracted": OUTLINE, "message_hash": event.content_hash, "share": share}
    return said._replace(
        id=outline_name(event.id),
        category=OUTLINE,
        text=line.text,
        kinds=(OUTLINE,),
        speaker="",
        role="",
        sensitivity=line.sensitivity,
        content_hash=line_hash(event.id, line.text),
        passage=None,
        outdated=None,
        provenance=Provenance(session=event.session, message_id=event.message_id, refs=(event.id,), metadata=about),
    )
