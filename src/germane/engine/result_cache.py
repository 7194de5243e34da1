"""Result cache: what an assembly reads before its sources run: a kept result, the task stack, the delegation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from math import inf
from typing import NamedTuple

from germane.engine.assembly import Deadline, Outcome
from germane.engine.breakers import Guard
from germane.errors import PROPAGATED
from germane.kinds.events.wording import action_of
from germane.kinds.tasks.reads import DelegationInto, StackView
from germane.kinds.tasks.value import DelegatedSession, TaskView
from germane.stages.read.query import with_goal
from germane.stores.contract import ScopedStore
from germane.types.caches import FifoCache, LruCache
from germane.types.candidate import Candidate, LeftOut, Scored
from germane.types.message import Image, Message, Opaque
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy


async def read_first(
    results: ResultCache,
    kept: KeptResult | None,
    request: Request,
    store: ScopedStore,
    strategy: Strategy,
    deadline: Deadline,
    guard: Guard,
) -> tuple[Outcome | None, RunningTask, Request]:
    """Returns the result that is kept, where it still holds; the session's task; and the request, held to what the session's
    delegation allows. A request without a session and without a result asks the store for nothing."""
    if kept is None and request.scope.session is None:
        return None, NO_TASK, request
    return await asyncio.gather(
        results.current(kept, store, deadline, guard),
        running_task(request, store, strategy, deadline, guard),
        held_to_delegation(request, store, deadline, guard),
    )


# What one assembly knows of its session's task stack (TASK-2).


_STACK_PART = 4
"""Reading the stack may take a quarter of the time for gathering."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """`view` is None where no task is open, and where reading it raised `failure`."""

    view: TaskView | None = None
    failure: BaseException | None = None

    def read(self) -> TaskView | None:
        """Returns the view. Raises what reading it raised."""
        if self.failure is not None:
            raise self.failure
        return self.view

    def joined(self, query: Query, messages: Sequence[Message]) -> Query:
        """The query with the goal of the current task, where there is one that the query's filters allow to be seen."""
        if self.view is None or self.view.current.sensitivity not in query.filters.sensitivities:
            return query
        return with_goal(query, self.view.current.goal, messages)

    def separate(self, ranked: Sequence[Scored]) -> tuple[Sequence[Scored], tuple[LeftOut, ...]]:
        """The candidates of the current task, and those left out: activity of other tasks. Memories and messages belong to
        every task, and so do the session's decisions."""
        view = self.view
        if view is None:
            return ranked, ()
        kept, out = list[Scored](), list[LeftOut]()
        for item in ranked:
            candidate = item.candidate
            if candidate.role or candidate.required or _belongs(view, candidate):
                kept.append(item)
            else:
                out.append(LeftOut(scored=item, reason="other_task"))
        return (kept, tuple(out)) if out else (ranked, ())


def _belongs(view: TaskView, candidate: Candidate) -> bool:
    """Whether the activity is the current task's own, or a decision that binds it."""
    if view.holds(candidate.task, candidate.created_at):
        return True
    decided = action_of(candidate.event_type) == "decision"
    return decided and view.binds(candidate.session, candidate.task, candidate.created_at)


NO_TASK = RunningTask()


async def running_task(
    request: Request, store: ScopedStore, strategy: Strategy, deadline: Deadline, guard: Guard
) -> RunningTask:
    """Reads the stack of the request's session, where the strategy plans the source `tasks` and the request doesn't refuse it.
    Raises only cancellation and interpreter exit: other errors are in the result, and the source `tasks` reports them."""
    planned = any(plan.name == "tasks" and plan.limit > 0 for plan in strategy.sources)
    session = request.scope.session
    if not planned or session is None or request.task is False:
        return NO_TASK
    now = guard.clock.steady()
    patience = None if deadline.gathered is None else max(0.0, deadline.gathered - now) / _STACK_PART
    named = request.task if isinstance(request.task, str) else None
    try:
        start = partial(store.ask, StackView(session, named))
        return RunningTask(await guard.call("task_stack", start, (TaskView, type(None)), patience=patience))
    except PROPAGATED:
        raise
    except BaseException as error:
        return RunningTask(failure=error)


# A request in the session of a delegated agent is held to what its parent allowed (TASK-4, SCOPE-2).


_MAX_DELEGATION_SECONDS = 0.010
"""Seconds that the store has to answer, and a quarter of the time at most."""


async def held_to_delegation(request: Request, store: ScopedStore, deadline: Deadline, guard: Guard) -> Request:
    """Returns the request, in the session of a delegated agent without the sensitivities that its parent didn't allow. Where
    the store doesn't answer in time it stays as it is: the gate refuses what isn't allowed, and what could have stood in its
    place is missing. Raises only cancellation and interpreter exit."""
    session = request.scope.session
    if session is None:
        return request
    left = None if deadline.gathered is None else max(0.0, deadline.gathered - guard.clock.steady())
    try:
        start = partial(store.ask, DelegationInto(session))
        patience = None if left is None else min(_MAX_DELEGATION_SECONDS, left / 4)
        given = await guard.call("delegation", start, (DelegatedSession, type(None)), patience=patience)
    except PROPAGATED:
        raise
    except BaseException:
        return request
    if given is None:
        return request
    allowed = tuple(one for one in request.filters.sensitivities if one in given.allowed)
    return replace(request, filters=replace(request.filters, sensitivities=allowed))


# Result cache: results of whole assemblies, for the same request sent again within 30 seconds (ENGINE-6). The key holds
# everything in the request that the result depends on, the scope included. With the result stands the revision of a
# commit that everything it was made of was read after. It is given again only while nothing of its scope has changed
# since that commit, so it is never stale, except by the clock: a request without a time of its own may be answered as
# of up to 30 s ago. A request that isn't known costs no trip to the store. Where another process has written since this
# one last asked, the first answer after it isn't given again. Only complete results (degradation level 0) are kept. A
# cached result is written into each request anew: no caller gets another caller's objects.


_MAX_CHARACTERS = 200_000
"""Characters of messages above which hashing a request costs more than it saves."""
_MAX_MESSAGES = 1000
_MAX_STRATEGIES = 64
"""Strategies whose descriptions are kept."""
_MAX_REVISION_SECONDS = 0.010
"""Seconds that the store has to tell its revision, so that a result can be given again, and a quarter of the time at most."""


class KeptResult(NamedTuple):
    """A result, when it was made (seconds on the steady clock), and the revision that its sources saw at least."""

    at: float
    revision: int
    outcome: Outcome


class ResultCache:
    """`max_entries` is small on purpose: a result is some thousand objects, and the garbage collector walks all that is kept.
    256 of them stopped the process for up to 250 ms."""

    def __init__(self, max_entries: int = 16, seconds: float = 30.0) -> None:
        self._results: LruCache[Hashable, KeptResult] = LruCache(max_entries)
        self._described: FifoCache[int, tuple[Strategy, str]] = FifoCache(_MAX_STRATEGIES)
        """Strategies by `id`, each beside its description: they are few, and their parts can't be hashed."""
        self._seconds = seconds
        self.hits, self.misses = 0, 0

    def suits(self, request: Request) -> bool:
        """Whether the result of this request may be kept. Not without a deadline (the caller waits for everything), not of very
        large requests, and not with images or opaque parts, whose cost their text doesn't tell."""
        if not self._results.max_entries or request.deadline is None or len(request.messages) > _MAX_MESSAGES:
            return False
        if sum(len(message.content) for message in request.messages) > _MAX_CHARACTERS:
            return False
        return not any(isinstance(part, Image | Opaque) for message in request.messages for part in message.parts)

    def key_of(self, request: Request, strategy: Strategy) -> Hashable | None:
        """The key of a request. None where its result isn't to be kept."""
        try:
            return self.key(request, strategy) if self.suits(request) else None
        except PROPAGATED:
            raise
        except BaseException:
            return None

    def key(self, request: Request, strategy: Strategy) -> Hashable:
        """The key. Raises `TypeError` for a request that isn't hashable."""
        digest = blake2b(digest_size=16)
        for message in request.messages:
            said = repr((message.role, message.id, message.name, message.parts))
            digest.update(said.encode("utf-8", "surrogatepass"))
        digest.update(json.dumps(request.tools, default=str, sort_keys=True).encode("utf-8", "surrogatepass"))
        moment = request.at if request.dated else None
        key = (
            *(request.scope, self._description(strategy), request.model, request.provider, moment),
            *(request.query, request.max_tokens, request.filters, digest.digest()),
            *(request.effort, request.like, request.window, request.beside, request.reserve, request.blocks, request.task),
        )
        hash(key)
        return key

    def _description(self, strategy: Strategy) -> str:
        known = self._described.get(id(strategy))
        if known is not None and known[0] is strategy:
            return known[1]
        described = repr(strategy)
        self._described.keep(id(strategy), (strategy, described))
        return described

    def find(self, key: Hashable | None, now: float) -> KeptResult | None:
        """What is kept for the key, and not too old; a miss is counted where there is nothing. None for the key None, which
        counts as neither."""
        if key is None:
            return None
        kept = self._results.get(key)
        if kept is not None and now - kept.at < self._seconds:
            return kept
        self.misses += 1
        return None

    async def current(self, kept: KeptResult | None, store: ScopedStore, deadline: Deadline, guard: Guard) -> Outcome | None:
        """The result, where nothing of its scope has changed since; None where something has, and where the store doesn't tell
        in time. Counts a hit or a miss. None for None, which counts as neither."""
        if kept is None:
            return None
        if await self._revision(store, deadline, guard) > kept.revision:
            self.misses += 1
            return None
        self.hits += 1
        return kept.outcome

    async def _revision(self, store: ScopedStore, deadline: Deadline, guard: Guard) -> float:
        """The scope's revision; infinite where the store doesn't tell in time."""
        try:
            left = max(0.0, (deadline.gathered or 0.0) - guard.clock.steady())
            revision: int = await guard.call("revision", store.revision, int, patience=min(_MAX_REVISION_SECONDS, left / 4))
            return revision
        except PROPAGATED:
            raise
        except BaseException:
            return inf

    def known_revision(self, store: ScopedStore) -> int | None:
        """The revision to keep a result with whose sources are read from now on; None where the store doesn't tell."""
        try:
            revision = store.known_revision()
        except PROPAGATED:
            raise
        except BaseException:
            return None
        return revision if isinstance(revision, int) else None

    def put(self, key: Hashable | None, revision: int | None, outcome: Outcome, now: float) -> None:
        """Keeps a result. `revision` is what `known_revision` returned before anything was gathered."""
        if key is not None and revision is not None:
            self._results.put(key, KeptResult(now, revision, outcome))

    def forget(self, scope: Scope) -> None:
        """Drops every result of this scope's agent, whichever user it was for."""
        mine = (scope.org, scope.agent)
        self._results.drop(lambda key: isinstance(key, tuple) and (key[0].org, key[0].agent) == mine)
