"""Gather: run the sources side by side until the deadline and take what is there (GATHER-1, GATHER-2).

Wave 0 reads the speakers' names and embeds the query; sources that need neither start with it, and the others go on by
keywords alone when half the time is gone. When time is up, what is still running is cancelled and abandoned, never awaited:
a source that ignores its cancellation costs a place in the bounded set of the abandoned, not the answer.
`asyncio.wait_for` isn't used: it waits for what it cancels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from germane.clock import Clock
from germane.gather.source import Skipped, Source
from germane.gather.vector import with_vector
from germane.item import Candidate
from germane.ports.embedder import Embedder
from germane.query import Query
from germane.shelf import Shelf, Warming
from germane.strategy import SourcePlan, Strategy
from germane.trace import SourceReport

__all__ = ["Abandoned", "Gathered", "gather"]

EARLY = frozenset({"directive", "structured", "recent", "history"})
"""Sources that don't look at the query's vector."""
_TICK = 1e-6
"""Seconds that no clock need tell apart: a limit this near is reached, so that nobody waits for what rounding left over."""
_ANSWERS: Mapping[str, type | tuple[type, ...]] = MappingProxyType({"directive": str, "embedding": Query})
"""What a task answers, where it isn't candidates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """`directive` is None when it couldn't be had in time."""

    query: Query
    directive: str | None
    candidates: tuple[Candidate, ...]
    reports: tuple[SourceReport, ...]


class Abandoned:
    """Tasks nobody waits for any more: kept until they end, counted, and bounded by name, so that a source that never ends
    is shed and takes no other with it."""

    def __init__(self, most: int = 32) -> None:
        self._tasks: dict[asyncio.Future[Any], str] = {}
        self._most = most

    def __len__(self) -> int:
        return len(self._tasks)

    def sheds(self, name: str) -> bool:
        """Whether no more tasks of this name should be begun."""
        return sum(one == name for one in self._tasks.values()) >= self._most

    def take(self, task: asyncio.Future[Any], name: str = "") -> None:
        task.cancel()
        self._tasks[task] = name
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Future[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled():
            task.exception()


async def gather(
    query: Query,
    shelf: Shelf,
    strategy: Strategy,
    sources: Mapping[str, Source],
    *,
    embedder: Embedder,
    ends: float | None,
    clock: Clock,
    abandoned: Abandoned,
) -> Gathered:
    """`sources` by name, for every plan of the strategy but the directive's; `ends` on the clock's steady scale, None to wait
    for everything. Never raises but for its own cancellation."""
    began = clock.steady()
    plans = {plan.name: plan for plan in strategy.sources if plan.limit > 0}
    patience = None if ends is None else max(0.0, ends - began) / 2
    tasks: dict[str, asyncio.Task[Any]] = {}
    skipped: list[SourceReport] = []

    def begin(name: str, start: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        if abandoned.sheds(name):
            skipped.append(SourceReport(name=name, status="skipped", reason="shed"))
        else:
            tasks[name] = asyncio.create_task(start())

    begin("embedding", lambda: with_vector(query, shelf, embedder, wait=ends is None, patience=patience))
    embedding = tasks.get("embedding")

    async def late(source: Source, plan: SourcePlan) -> Sequence[Candidate]:
        if embedding is not None:
            await asyncio.wait([embedding], timeout=patience)
        return await source.gather(_asked(embedding, query), plan)

    for name, plan in plans.items():
        if name == "directive":
            begin(name, shelf.directive)
        elif name not in sources:
            skipped.append(SourceReport(name=name, status="skipped", reason="unknown"))
        else:
            source = sources[name]
            begin(name, partial(source.gather, query, plan) if name in EARLY else partial(late, source, plan))
    finished = await _wait(tasks, plans, began, ends, clock, abandoned)
    reports = skipped + [_report(name, task, finished.get(name), began) for name, task in tasks.items()]
    found = [one for name, task in tasks.items() if name in sources for one in _candidates(task)[: plans[name].limit]]
    return Gathered(
        query=_asked(embedding, query),
        directive=_words(tasks.get("directive")) if "directive" in plans else "",
        candidates=tuple(found),
        reports=tuple(reports),
    )


async def _wait(
    tasks: Mapping[str, asyncio.Task[Any]],
    plans: Mapping[str, SourcePlan],
    began: float,
    ends: float | None,
    clock: Clock,
    abandoned: Abandoned,
) -> dict[str, float]:
    """When each task finished. Those whose own time or the common time is up are abandoned."""
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
            finished |= {names[task]: now for task in done}
            for task in [task for task in pending if (limit := limits[names[task]]) is not None and limit <= now + _TICK]:
                abandoned.take(task, names[task])
                pending.discard(task)
    except asyncio.CancelledError:
        for task in names:  # the finished ones too: what one of them raised is for no log
            abandoned.take(task, names[task])
        raise
    return finished


def _limit(plan: SourcePlan | None, began: float, ends: float | None) -> float | None:
    own = None if plan is None or plan.timeout is None or ends is None else began + plan.timeout
    return min((limit for limit in (own, ends) if limit is not None), default=None)


def _fine(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _candidates(task: asyncio.Task[Any]) -> Sequence[Candidate]:
    """What a source answered; anything that isn't candidates is no answer."""
    if not _fine(task):
        return ()
    answer = task.result()
    return [one for one in answer if isinstance(one, Candidate)] if isinstance(answer, (list, tuple)) else ()


def _asked(embedding: asyncio.Task[Any] | None, query: Query) -> Query:
    """The query with its vector where there is one by now."""
    return embedding.result() if embedding is not None and _fine(embedding) else query


def _words(task: asyncio.Task[Any] | None) -> str | None:
    """What the store answered for the directive; anything that isn't text is no answer."""
    answer = task.result() if task is not None and _fine(task) else None
    return answer if isinstance(answer, str) else None


def _report(name: str, task: asyncio.Task[Any], finished: float | None, began: float) -> SourceReport:
    latency = 0.0 if finished is None else finished - began
    report = SourceReport(name=name, status="ok", latency=latency, found=len(_candidates(task)))
    if finished is None:
        return replace(report, status="timeout")
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is None:
        answer = task.result()
        if not isinstance(answer, _ANSWERS.get(name, (list, tuple))):
            return replace(report, status="error", reason="garbage")
        if name == "embedding" and task.result().vector is None:
            return replace(report, status="skipped", reason="no_vector")
        return report
    if isinstance(error, Warming):
        return replace(report, status="skipped", reason="warming")
    if isinstance(error, Skipped):
        return replace(report, status="skipped", reason=str(error))
    return replace(report, status="error", reason=type(error).__name__)
