"""Gather: runs the sources in parallel until the deadline and collects what has finished (GATHER-1, GATHER-2).

If the store can, a quick embedder makes the query's vector within the searches themselves (`VectorOnDemand`), so that one
trip to a reader thread brings all that the store has. Otherwise the query is embedded in parallel with the sources that don't
need its vector; the others wait for it, for half of the time at most, and then search by keywords alone.

At the deadline, tasks that still run are cancelled and abandoned, never awaited: a source that ignores its cancellation takes
a place in the bounded set of abandoned tasks but doesn't delay the answer. `asyncio.wait_for` isn't used because it waits for
the task that it cancels.

A source whose circuit breaker is open isn't started. Every attempt that was started is reported to the breaker.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.kinds.blocks.value import stored_id
from germane.kinds.memories.directive import CurrentDirective, Directive
from germane.ports.models import Embedder
from germane.stages.gather.builtin import WITHOUT_VECTOR
from germane.stages.gather.source import BusySource, EmbeddingSource, Skipped, Source, VectorOnDemand, with_vector
from germane.stores.contract import EmbedsQueries, ScopedStore, StillLoading
from germane.types.candidate import Candidate
from germane.types.evidence import Unread
from germane.types.query import Query
from germane.types.strategy import SourcePlan, Strategy
from germane.types.trace import SourceReport, Status

_TICK = 1e-6
"""Seconds: a limit this near counts as reached, so that nothing waits for a rounding error."""


class SourceAttempt(Protocol):
    def report(self, succeeded: bool | None, now: float, *, late: bool = False) -> None:
        """Tells the breaker the result (`outcome.verdict`); `late` marks a failure by time-out."""


StartAttempt = Callable[[str], SourceAttempt]
"""Permission to call the source of this name once. Raises `Skipped`, with the reason, where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What the sources returned. `query` has its vector where there was one in time; `directive` is None when it couldn't be
    read in time, and empty when the strategy doesn't plan it; `reports` has one entry for each source and for the
    embedding."""

    query: Query
    directive: Directive | None
    candidates: tuple[Candidate, ...]
    reports: tuple[SourceReport, ...]
    unread: tuple[Unread, ...] = ()
    """The most probable first; none of them is a candidate."""


async def gather(
    query: Query,
    store: ScopedStore,
    strategy: Strategy,
    sources: Mapping[str, Source],
    *,
    embedder: Embedder,
    ends: float | None,
    clock: Clock,
    abandoned: Abandoned,
    start_attempt: StartAttempt,
) -> Gathered:
    """Gathers candidates for the query. `sources` has a source by name for every plan of the strategy but the directive's.
    `ends` is the deadline in seconds on the clock's steady scale; None waits for every source. Raises nothing except
    `asyncio.CancelledError` when it is cancelled itself."""
    began = clock.steady()
    plans = {plan.name: plan for plan in strategy.sources if plan.limit > 0}
    patience = None if ends is None else max(0.0, ends - began) / 2
    attempts: dict[str, SourceAttempt] = {}
    tasks: dict[str, asyncio.Future[Any]] = {}
    skipped: list[SourceReport] = []
    on_demand: VectorOnDemand | None = None

    def admits(name: str) -> bool:
        try:
            attempts[name] = start_attempt(name)
        except Skipped as refusal:
            skipped.append(SourceReport(name=name, status="skipped", reason=str(refusal)))
        return name in attempts

    async def run(name: str, plan: SourcePlan, asked: Query, embedding: asyncio.Future[Any] | None) -> Any:
        if name == "directive":
            return await store.ask(CurrentDirective())
        if name in WITHOUT_VECTOR:
            return await sources[name].gather(query, plan)
        if embedding is not None:
            await asyncio.wait([embedding], timeout=patience)
            asked = _with_embedding(embedding, query)
        return await sources[name].gather(asked, plan)

    planned = [name for name in plans if name == "directive" or name in sources]
    skipped += [SourceReport(name=name, status="skipped", reason="unknown") for name in plans if name not in planned]
    admitted = [name for name in planned if admits(name)]
    searching = [name for name in admitted if name not in WITHOUT_VECTOR and not isinstance(sources[name], BusySource)]
    if searching and admits("embedding"):
        sources_embed = all(isinstance(sources[name], EmbeddingSource) for name in searching)
        if embedder.quick and sources_embed and isinstance(store, EmbedsQueries):
            on_demand = VectorOnDemand(query, embedder)
        else:
            vector = with_vector(query, store, embedder, patience=patience)
            tasks["embedding"] = asyncio.create_task(vector)
    asked, embedding = query if on_demand is None else on_demand.asked(), tasks.get("embedding")
    tasks |= {name: asyncio.create_task(run(name, plans[name], asked, embedding)) for name in admitted}
    try:
        finished = await _wait(tasks, plans, began, ends, clock, abandoned)
    except asyncio.CancelledError:
        for attempt in attempts.values():
            attempt.report(None, clock.steady())
        raise
    if on_demand is not None:
        tasks = {"embedding": on_demand.settled(), **tasks}
        finished["embedding"] = on_demand.seconds or 0.0
    reports = [report_of(name, task, finished.get(name)) for name, task in tasks.items()]
    ended = clock.steady()
    for report in reports:
        own = plans[report.name].timeout if report.name in plans else None
        succeeded = verdict_of(tasks[report.name], report, report.latency or ended - began, own)
        attempts[report.name].report(succeeded, ended, late=report.status != "error")
    found = [one for name in admitted for one in candidates_of(name, tasks[name])[: plans[name].limit]]
    return Gathered(
        query=_with_embedding(tasks.get("embedding"), query),
        directive=answer_of("directive", tasks.get("directive")) if "directive" in plans else Directive(),
        candidates=(*found, *_newer(found, query)),
        reports=(*skipped, *reports),
        unread=_not_read([one for name in admitted for one in unread_of(name, tasks[name])], found),
    )


def _not_read(found: Sequence[Unread], read: Sequence[Candidate]) -> tuple[Unread, ...]:
    """`found`, the most probable first, without what another source has read."""
    if not found:
        return ()
    known = {stored_id(candidate.id) for candidate in read}
    return tuple(sorted((one for one in found if one.id not in known), key=lambda one: (-one.log_odds, one.id)))


def _newer(found: Sequence[Candidate], query: Query) -> list[Candidate]:
    """What makes one of the candidates outdated, of what the query may see; a search has ranked none of it."""
    filters, allowed = query.said_by_then, query.filters.sensitivities
    return [
        newer
        for candidate in found
        for newer in candidate.newer
        if newer.sensitivity in allowed
        and filters.session in (None, newer.session)
        and (filters.until is None or newer.created_at <= filters.until)
        and (filters.since is None or newer.created_at >= filters.since)
    ]


async def _wait(
    tasks: Mapping[str, asyncio.Future[Any]],
    plans: Mapping[str, SourcePlan],
    began: float,
    ends: float | None,
    clock: Clock,
    abandoned: Abandoned,
) -> dict[str, float]:
    """Waits for the tasks; returns the seconds that each finished task took. Tasks whose own limit or the common deadline has
    passed are abandoned."""
    names = {task: name for name, task in tasks.items()}
    limits = {name: _limit(plans.get(name), began, ends) for name in tasks}
    pending = set(names)
    finished: dict[str, float] = {}
    try:
        while pending:
            until = min((limit for task in pending if (limit := limits[names[task]]) is not None), default=None)
            patience = None if until is None else max(0.0, until - clock.steady())
            done, pending = await asyncio.wait(pending, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            now = clock.steady()
            finished |= {names[task]: now - began for task in done}
            for task in [task for task in pending if (limit := limits[names[task]]) is not None and limit <= now + _TICK]:
                abandoned.take(task, names[task])
                pending.discard(task)
    except asyncio.CancelledError:
        for task in names:  # finished tasks too: otherwise asyncio logs exceptions that were never retrieved
            abandoned.take(task, names[task])
        raise
    return finished


def _limit(plan: SourcePlan | None, began: float, ends: float | None) -> float | None:
    """When a task is abandoned, on the steady scale: at its own time-out or at the deadline, whichever is earlier."""
    own = None if plan is None or plan.timeout is None or ends is None else began + plan.timeout
    return min((limit for limit in (own, ends) if limit is not None), default=None)


def _with_embedding(embedding: asyncio.Future[Any] | None, query: Query) -> Query:
    """The query with its vector, if the embedding has finished."""
    found: Query | None = answer_of("embedding", embedding)
    return query if found is None else found


# What a source's finished task says: its answer, its report for the trace, its verdict for the breaker.


_ANSWERS: Mapping[str, type | tuple[type, ...]] = MappingProxyType({"directive": Directive, "embedding": Query})
"""The type of a task's answer, for tasks that don't return candidates."""
_MIN_FAIR = 0.010
"""Seconds: a time-out counts as a failure only if the source had at least this long."""


def answer_of(name: str, task: asyncio.Future[Any] | None) -> Any:
    """What the task of this name returned; None where it didn't return, or returned something of the wrong type."""
    if task is None or not task.done() or task.cancelled() or task.exception() is not None:
        return None
    found = task.result()
    fits = isinstance(found, _ANSWERS[name]) if name in _ANSWERS else _is_list(found)
    return found if fits else None


def _is_list(found: object) -> bool:
    """Whether it is a list or a plain tuple. A single candidate or event is a tuple too, but with names."""
    return isinstance(found, (list, tuple)) and not hasattr(found, "_fields")


def candidates_of(name: str, task: asyncio.Future[Any]) -> Sequence[Candidate]:
    """The candidates that a source returned; anything else in its answer is ignored."""
    return () if name in _ANSWERS else [item for item in answer_of(name, task) or () if isinstance(item, Candidate)]


def unread_of(name: str, task: asyncio.Future[Any]) -> Sequence[Unread]:
    """What a source found and didn't read."""
    return () if name in _ANSWERS else [item for item in answer_of(name, task) or () if isinstance(item, Unread)]


def _count(name: str, task: asyncio.Future[Any]) -> int:
    return 0 if name in _ANSWERS else sum(isinstance(item, (Candidate, Unread)) for item in answer_of(name, task) or ())


def report_of(name: str, task: asyncio.Future[Any], latency: float | None) -> SourceReport:
    """The report of one task for the trace. `latency` in seconds; None for a task that was abandoned."""
    if latency is None:
        return SourceReport(name=name, status="timeout")
    status, reason = _status(name, task)
    return SourceReport(name=name, status=status, latency=latency, found=_count(name, task), reason=reason)


def _status(name: str, task: asyncio.Future[Any]) -> tuple[Status, str]:
    """Of a task that has ended: how, and why it isn't `ok`."""
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if isinstance(error, StillLoading):
        return "skipped", "warming"
    if isinstance(error, Skipped):
        return "skipped", str(error)
    if error is not None:
        return "error", type(error).__name__
    if (found := answer_of(name, task)) is None:
        return "error", "garbage"
    if name == "embedding" and found.vector is None:
        return "skipped", "no_vector"
    return "ok", ""


def verdict_of(task: asyncio.Future[Any], report: SourceReport, had: float, own: float | None) -> bool | None:
    """Whether the source worked, for the circuit breaker. None where the task doesn't tell: the source had nothing to do, its
    partition is still being loaded, the request was invalid (`InvalidInput`), or it `had` less than 10 ms. A source that set a
    shorter time-out of its `own` is judged by that."""
    if task.done() and not task.cancelled() and isinstance(task.exception(), InvalidInput):
        return None
    if report.status == "ok":
        return True
    if report.status == "error":
        return False
    late = report.status == "timeout" or report.reason == "slow_embedder"
    return False if late and had >= min(_MIN_FAIR, _MIN_FAIR if own is None else own) else None


# Cancelled tasks that nobody waits for, kept until they end, counted and bounded.


class Abandoned:
    """Holds abandoned tasks by name. The bound is per name, so that a source whose tasks never end is shed without affecting
    other sources. `total` counts all tasks ever abandoned; the length counts those that haven't ended yet."""

    def __init__(self, max_per_name: int = 32) -> None:
        self._tasks: dict[asyncio.Future[Any], str] = {}
        self._unfinished: Counter[str] = Counter()
        self._max_per_name = max_per_name
        self.total = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def sheds(self, name: str) -> bool:
        """Whether so many tasks of this name are unfinished that no more may be started."""
        return self._unfinished[name] >= self._max_per_name

    def take(self, task: asyncio.Future[Any], name: str) -> None:
        """Cancels the task without waiting for it. A finished task may be given too: its exception is retrieved, so that
        asyncio doesn't log it."""
        self.total += not task.done()
        task.cancel()
        self._tasks[task] = name
        self._unfinished[name] += 1
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Future[Any]) -> None:
        self._unfinished[self._tasks.pop(task)] -= 1
        if not task.cancelled():
            task.exception()
