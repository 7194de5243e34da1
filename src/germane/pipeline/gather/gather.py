"""Gather: run the sources side by side until the deadline and take what is there (GATHER-1, GATHER-2).

Wave 0 reads the speakers' names and embeds the query; sources that need neither start with it, and the others go on by
keywords alone when half the time is gone. When time is up, what is still running is cancelled and abandoned, never awaited:
a source that ignores its cancellation costs a place in the bounded set of the abandoned, not the answer.
`asyncio.wait_for` isn't used: it waits for what it cancels.

What isn't to be asked just now isn't started; whoever is asked for leave is told how it went.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from germane.clock import Clock
from germane.pipeline.gather.abandoned import Abandoned
from germane.pipeline.gather.outcome import answer, candidates, reported, verdict
from germane.pipeline.gather.source import Busy, Source
from germane.pipeline.gather.vector import with_vector
from germane.ports.embedder import Embedder
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.query import Query
from germane.types.strategy import SourcePlan, Strategy
from germane.types.trace import SourceReport

__all__ = ["Gathered", "SourceAttempt", "StartAttempt", "gather"]

EARLY = frozenset({"directive", "structured", "recent", "history"})
"""Sources that don't look at the query's vector."""
_TICK = 1e-6
"""Seconds that no clock need tell apart: a limit this near is reached, so that nobody waits for what rounding left over."""


class SourceAttempt(Protocol):
    def report(self, succeeded: bool | None, now: float, *, late: bool = False) -> None:
        """Tells the breaker the result (`outcome.verdict`); `late` marks a failure by time-out."""


StartAttempt = Callable[[str], SourceAttempt | None]
"""Asks the circuit breaker for an attempt to call the source of this name; None while its circuit is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """`directive` is None when it couldn't be had in time."""

    query: Query
    directive: str | None
    candidates: tuple[Candidate, ...]
    reports: tuple[SourceReport, ...]


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
    """`sources` by name, for every plan of the strategy but the directive's; `ends` on the clock's steady scale, None to wait
    for everything. Never raises but for its own cancellation."""
    began = clock.steady()
    plans = {plan.name: plan for plan in strategy.sources if plan.limit > 0}
    patience = None if ends is None else max(0.0, ends - began) / 2
    attempts: dict[str, SourceAttempt] = {}
    tasks: dict[str, asyncio.Task[Any]] = {}
    skipped: list[SourceReport] = []

    def admits(name: str) -> bool:
        reason = "shed" if abandoned.sheds(name) else ""
        if not reason and (attempt := start_attempt(name)) is not None:
            attempts[name] = attempt
            return True
        skipped.append(SourceReport(name=name, status="skipped", reason=reason or "breaker"))
        return False

    async def ask(name: str, plan: SourcePlan) -> Any:
        if name == "directive":
            return await store.directive()
        if name not in EARLY and "embedding" in tasks:
            await asyncio.wait([tasks["embedding"]], timeout=patience)
            return await sources[name].gather(_asked(tasks, query), plan)
        return await sources[name].gather(query, plan)

    known = [name for name in plans if name == "directive" or name in sources]
    skipped += [SourceReport(name=name, status="skipped", reason="unknown") for name in plans if name not in known]
    admitted = [name for name in known if admits(name)]
    searching = [name for name in admitted if name not in EARLY and not isinstance(sources[name], Busy)]
    if searching and admits("embedding"):
        vector = with_vector(query, store, embedder, wait=ends is None, patience=patience)
        tasks["embedding"] = asyncio.create_task(vector)
    tasks |= {name: asyncio.create_task(ask(name, plans[name])) for name in admitted}
    try:
        finished = await _wait(tasks, plans, began, ends, clock, abandoned)
    except asyncio.CancelledError:
        for attempt in attempts.values():
            attempt.report(None, clock.steady())
        raise
    reports = [reported(name, task, finished.get(name)) for name, task in tasks.items()]
    ended = clock.steady()
    for report in reports:
        own = plans[report.name].timeout if report.name in plans else None
        succeeded = verdict(tasks[report.name], report, report.latency or ended - began, own)
        attempts[report.name].report(succeeded, ended, late=report.status != "error")
    found = [one for name in admitted for one in candidates(name, tasks[name])[: plans[name].limit]]
    return Gathered(
        query=_asked(tasks, query),
        directive=answer("directive", tasks.get("directive")) if "directive" in plans else "",
        candidates=tuple(found),
        reports=(*skipped, *reports),
    )


async def _wait(
    tasks: Mapping[str, asyncio.Task[Any]],
    plans: Mapping[str, SourcePlan],
    began: float,
    ends: float | None,
    clock: Clock,
    abandoned: Abandoned,
) -> dict[str, float]:
    """Seconds that each finished task took. Those whose own time or the common time is up are abandoned."""
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
        for task in names:  # the finished ones too: what one of them raised is for no log
            abandoned.take(task, names[task])
        raise
    return finished


def _limit(plan: SourcePlan | None, began: float, ends: float | None) -> float | None:
    own = None if plan is None or plan.timeout is None or ends is None else began + plan.timeout
    return min((limit for limit in (own, ends) if limit is not None), default=None)


def _asked(tasks: Mapping[str, asyncio.Task[Any]], query: Query) -> Query:
    """The query with its vector where there is one by now."""
    found: Query | None = answer("embedding", tasks.get("embedding"))
    return query if found is None else found
