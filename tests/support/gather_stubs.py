"""Stand-ins: a scoped store, sources and embedders in memory that are as slow or faulty as a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, cast

from germane.api.strategies import COMPACT
from germane.clock import Clock
from germane.kinds.conversations.reads import LatestLines
from germane.kinds.events.reads import LatestHighlights, ListEvents, RecentEvents, SeenEvents
from germane.kinds.events.value import Event
from germane.kinds.graph.reads import MatchingPatterns, SalientEntities, SeenNamed, WalkFrom
from germane.kinds.memories.directive import CurrentDirective, Directive
from germane.kinds.memories.reads import PinnedMemories
from germane.kinds.memories.value import Memory
from germane.ports.models import Embedder
from germane.stages.gather.gather import Abandoned, Gathered, SourceAttempt, StartAttempt, gather
from germane.stages.gather.source import Skipped, Source
from germane.stores.contract import ScopedStore
from germane.text.terms import query_terms
from germane.types.candidate import Candidate
from germane.types.evidence import Found, Hit, Unread
from germane.types.plan import Read
from germane.types.query import Filters, Query
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan, Strategy
from germane.types.trace import SourceReport
from germane_testing.builders import MOMENT, Hashed, candidate

__all__ = [
    "AnsweringSource",
    "EventsStub",
    "MemoriesStub",
    "RecordedAttempt",
    "SlowEmbedder",
    "UncancellableSource",
    "asking",
    "gathered",
    "hit",
    "planning",
    "report",
    "scoped",
]


def asking(text: str = "what tea", **fields: Any) -> Query:
    return Query(text=text, at=MOMENT, terms=query_terms(text), **fields)


def planning(*plans: SourcePlan | str) -> Strategy:
    """A strategy with only these sources."""
    return replace(COMPACT, sources=tuple(SourcePlan(name=plan) if isinstance(plan, str) else plan for plan in plans))


def hit(thing: Any, evidence: Any) -> Hit[Any]:
    return Hit(thing=thing, evidence=evidence)


class AnsweringSource:
    """A source that returns `answer` (or raises `error`) after `after` seconds, and keeps the queries it received."""

    def __init__(self, *answer: Candidate, after: float = 0.0, error: BaseException | None = None, raw: Any = None) -> None:
        self.answer: Any = list(answer) if raw is None else raw
        self.after, self.error = after, error
        self.asked: list[Query] = []
        self.cancelled = 0

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        self.asked.append(query)
        try:
            if self.after:
                await asyncio.sleep(self.after)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return cast("Sequence[Candidate]", self.answer)


class UncancellableSource:
    """A source that ignores cancellation until `released` is set."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue
        return [candidate("too late")]


class SlowEmbedder(Hashed):
    """An embedder whose `embed` takes `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(quick=False)
        self.seconds = seconds
        self.cancelled = 0

    async def embed(self, texts: Sequence[str]) -> Any:
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await super().embed(texts)


@dataclass
class EventsStub:
    """A reader of events with fixed answers; `asked` holds the arguments of the last call."""

    hits: Sequence[Hit[Event]] = ()
    unread: tuple[Unread, ...] = ()
    searches: int = 0
    latest: Sequence[Event] = ()
    earlier: Sequence[Event] = ()
    highlighted: Any = None
    names: tuple[str, ...] = ()
    error: Exception | None = None
    asked: Any = None

    async def search(self, query: Query, limit: int, **how: Any) -> Found[Event]:
        self.asked = (query, limit, how)
        self.searches += 1
        if self.error is not None:
            raise self.error
        return Found(hits=tuple(self.hits), unread=self.unread)

    async def recent(
        self, limit: int, *, session: str | None = None, filters: Filters, whole: bool = False, typed: bool | None = None
    ) -> tuple[Event, ...]:
        self.asked = (limit, session, filters)
        return tuple(self.latest[:limit])

    async def highlights(self, sessions: int, *, limit: int, filters: Filters, but: str | None = None) -> tuple[Event, ...]:
        self.highlighted = (sessions, limit, but)
        return tuple(self.earlier)

    async def speakers(self, said_in: str | None = None) -> tuple[str, ...]:
        return self.names


@dataclass
class MemoriesStub:
    """A reader of memories with fixed answers; `asked` holds the arguments of the last call."""

    hits: Sequence[Hit[Memory]] = ()
    named: Sequence[Memory] = ()
    asked: Any = None

    async def search(self, query: Query, limit: int, **how: Any) -> Found[Memory]:
        self.asked = (query, limit, how)
        return Found(hits=tuple(self.hits))

    async def pinned(self, keys: Sequence[str], tags: Sequence[str], *, at: datetime, filters: Filters) -> tuple[Memory, ...]:
        self.asked = (keys, tags, at, filters)
        return tuple(self.named)


class _Scoped:
    def __init__(
        self,
        directive: Callable[[], Any],
        events: EventsStub,
        memories: MemoriesStub,
        session: str | None,
        graph: Any,
        history: Any,
    ) -> None:
        self.scope = Scope(session=session)
        self.events, self.memories, self.graph, self.history = events, memories, graph, history
        self._directive = directive

    async def ask(self, read: Read[Any]) -> Any:
        if isinstance(read, CurrentDirective):
            answer = self._directive()
            return await answer if asyncio.iscoroutine(answer) else answer
        part, method = _STUBBED[type(read)]
        return await getattr(getattr(self, part), method)(**{field.name: getattr(read, field.name) for field in fields(read)})  # type: ignore[arg-type]


_STUBBED: dict[type[Read[Any]], tuple[str, str]] = {
    LatestLines: ("history", "latest_lines"),
    PinnedMemories: ("memories", "pinned"),
    SeenEvents: ("events", "get"),
    RecentEvents: ("events", "recent"),
    ListEvents: ("events", "page"),
    LatestHighlights: ("events", "highlights"),
    SeenNamed: ("graph", "named"),
    SalientEntities: ("graph", "salient"),
    WalkFrom: ("graph", "neighbourhood"),
    MatchingPatterns: ("graph", "patterns"),
}
"""The stub and the method of it that answer a read, which get its fields."""


def scoped(
    directive: Callable[[], Any] = lambda: Directive("Be brief."),
    *,
    events: EventsStub | None = None,
    memories: MemoriesStub | None = None,
    session: str | None = None,
    graph: Any = None,
    history: Any = None,
) -> ScopedStore:
    given = (events or EventsStub(), memories or MemoriesStub(), session, graph, history)
    return cast("ScopedStore", _Scoped(directive, *given))


async def gathered(
    sources: Mapping[str, Source],
    *plans: SourcePlan | str,
    within: float | None = 0.040,
    embedder: Embedder | None = None,
    on: ScopedStore | None = None,
    query: Query | None = None,
    abandoned: Abandoned | None = None,
    start_attempt: StartAttempt | None = None,
) -> Gathered:
    """Gathered on the running loop's clock; all the sources are planned unless plans are given."""
    clock, left = Clock(), Abandoned() if abandoned is None else abandoned

    def start(name: str) -> SourceAttempt:
        if left.sheds(name):
            raise Skipped("shed")
        return RecordedAttempt(name)

    return await gather(
        query or asking(),
        on or scoped(),
        planning(*(plans or tuple(sources))),
        sources,
        embedder=embedder or Hashed(),
        ends=None if within is None else clock.steady() + within,
        clock=clock,
        abandoned=left,
        start_attempt=start_attempt or start,
    )


class RecordedAttempt:
    """Stands in for the circuit breaker: admits every attempt and keeps the results reported."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.reported: list[bool | None] = []

    def report(self, succeeded: bool | None, now: float, *, late: bool = False) -> None:
        self.reported.append(succeeded)


def report(answer: Gathered, name: str) -> SourceReport:
    (found,) = [one for one in answer.reports if one.name == name]
    return found
