"""Consolidate: one call of `consolidate` or `audit`: reads an owner's memories page by page.

`consolidate` plans, and carries the plan out in small commits. `audit` changes nothing: it reports what deserves a look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from germane.api.arguments import flags, number, remarks
from germane.api.wiring import Parts
from germane.errors import InvalidInput
from germane.kinds.events.reads import ListEvents
from germane.kinds.events.value import DOCUMENT, Event
from germane.kinds.memories.consolidation import (
    ConsolidationPlan,
    StorageBudget,
    compress,
    drop_vectors,
    evict,
    merge,
    opening,
    plan_consolidation,
    same_as,
)
from germane.kinds.memories.forgetting import MemoryAudit, secret_finding
from germane.kinds.memories.reads import OpenConflicts, SizedMemories
from germane.kinds.memories.upkeep import Audit, AuditFinding, Compressed, Consolidated, Eviction, Holding, Holdings, Merged
from germane.kinds.memories.value import SizedMemory
from germane.ports.background import Background
from germane.stores.contract import ScopedStore, scrub_files
from germane.types.limits import PAGE
from germane.types.query import EVERY_SENSITIVITY
from germane.types.scope import Scope

_MAX_BUDGET = 1 << 50
_HOLDINGS_PAGE = 1_000
_MAX_FORGOTTEN = 500
"""Memories that one commit forgets."""
_MAX_GROUPS = 32
"""Groups of episodes, or of duplicates, in one commit."""
T = TypeVar("T")


async def consolidate(
    parts: Parts,
    scope: Scope,
    *,
    max_memories: int | None,
    max_bytes: int | None,
    dry_run: bool,
    by: str,
    progress: Callable[[int, int], None] | None,
) -> Consolidated:
    """See `Agent.consolidate`."""
    flags(dry_run=dry_run)
    budget = check_storage_budget(max_memories, max_bytes)
    work = Consolidating(parts.store.within(scope), now=parts.clock.now, background=parts.background, progress=progress)
    report = await work.run(budget, dry_run=dry_run, by=remarks(parts.secrets, by)["by"])
    if not dry_run:
        parts.engine.forget(scope)
    return report


class Consolidating:
    """`progress` is called with the memories done and in all."""

    def __init__(
        self,
        store: ScopedStore,
        *,
        now: Callable[[], datetime],
        background: Background,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._store, self._now, self._background, self._progress = store, now, background, progress

    async def run(self, budget: StorageBudget, *, dry_run: bool, by: str) -> Consolidated:
        held = await self._read()
        before = Holdings.of(held)
        plan = await self._background.run(partial(plan_consolidation, held, budget))
        if dry_run or not (plan.merged or plan.compressed or plan.vectors or plan.evicted):
            after = before if not dry_run else Holdings(memories=plan.memories, bytes=plan.bytes, kinds=_kinds(held, plan))
            return _report(plan, before, after, dry_run)
        told = _Told(plan, self._progress)
        at, commit = self._now(), self._store.commit
        merged, compressed, dropped, evicted = list[Merged](), list[Compressed](), list[str](), list[Eviction]()
        for groups in _slices(plan.merged, _MAX_GROUPS):
            united = await commit(merge(groups, at=at, by=by))
            merged += united
            told(sum(len(one.ids) for one in groups))
        for episodes in _slices(plan.compressed, _MAX_GROUPS):
            noted = await commit(compress(episodes, scope=self._store.scope, at=at, by=by))
            compressed += noted
            told(sum(len(one.ids) for one in episodes))
        for ids in _slices(plan.vectors, _MAX_FORGOTTEN):
            bare = await commit(drop_vectors(ids))
            dropped += bare
            told(len(ids))
        for ones in _slices(plan.evicted, _MAX_FORGOTTEN):
            gone = await commit(evict(ones, at=at, by=by))
            evicted += gone
            told(len(ones))
        after = Holdings.of(await self._read())
        waiting_for = await scrub_files(self._store)
        return Consolidated(
            before=before,
            after=after,
            merged=tuple(merged),
            compressed=tuple(compressed),
            vectors_dropped=tuple(dropped),
            evicted=tuple(evicted),
            fits=plan.fits,
            scrubbed=not waiting_for,
            waiting_for=waiting_for,
        )

    async def _read(self) -> list[Holding]:
        """All memories of the owner, ended ones too."""
        held, position, now = list[Holding](), 0, self._now()
        while page := await self._store.ask(SizedMemories(after=position, limit=_HOLDINGS_PAGE)):
            held += [Holding.of(one, same_as(one.memory), opening(one.memory), now) for one in page]
            position = page[-1].position
        return held


class _Told:
    """Counts what is done, and tells it to the caller."""

    def __init__(self, plan: ConsolidationPlan, progress: Callable[[int, int], None] | None) -> None:
        groups = [*(one.ids for one in plan.merged), *(one.ids for one in plan.compressed)]
        self._total = sum(map(len, groups)) + len(plan.vectors) + len(plan.evicted)
        self._done, self._progress = 0, progress

    def __call__(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(self._done, self._total)


def check_storage_budget(max_memories: object, max_bytes: object) -> StorageBudget:
    """Returns the budget. Raises `InvalidInput` without a limit, and for a limit that isn't a whole number from 0."""
    if max_memories is None and max_bytes is None:
        raise InvalidInput("needs a budget", path="consolidate", advice="give max_memories, max_bytes, or both")
    for name, value in (("max_memories", max_memories), ("max_bytes", max_bytes)):
        if value is not None:
            number(name, value, minimum=0, maximum=_MAX_BUDGET)
    return StorageBudget(max_memories=max_memories, max_bytes=max_bytes)  # type: ignore[arg-type]


def _slices(some: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(some), size):
        yield some[start : start + size]


def _report(plan: ConsolidationPlan, before: Holdings, after: Holdings, dry_run: bool) -> Consolidated:
    return Consolidated(
        before=before,
        after=after,
        merged=plan.merged,
        compressed=plan.compressed,
        vectors_dropped=plan.vectors,
        evicted=plan.evicted,
        fits=plan.fits,
        dry_run=dry_run,
    )


def _kinds(held: Sequence[Holding], plan: ConsolidationPlan) -> dict[str, int]:
    """The number of memories by kind after the plan."""
    groups = [*(one.ids for one in plan.merged), *(one.ids for one in plan.compressed)]
    gone = {one.id for one in plan.evicted}.union(*groups)
    kinds = Counter(one.kind for one in held if one.id not in gone)
    kinds.update({"note": len(plan.compressed)})
    return {kind: count for kind, count in sorted(kinds.items()) if count}


# One call of `audit`.


_AUDIT_PAGE = 500
_MAX_CONFLICTS = 1 << 31
_PASSAGES = replace(EVERY_SENSITIVITY, event_types=(DOCUMENT,))


async def audit(parts: Parts, scope: Scope, *, unused_days: int, limit: int, messages: bool) -> Audit:
    """See `Agent.audit`."""
    number("unused_days", unused_days, maximum=100_000)
    number("limit", limit, minimum=1, maximum=PAGE.maximum)
    flags(messages=messages)
    store, background, now = parts.store.within(scope), parts.background, parts.clock.now()
    looking = MemoryAudit(now=now, unused=timedelta(days=unused_days), limit=limit)
    position = 0
    while page := await store.ask(SizedMemories(after=position, limit=_AUDIT_PAGE)):
        await background.run(partial(_look, looking, page, background))
        position = page[-1].position
    looking.contradict(await store.ask(OpenConflicts(at=now, limit=_MAX_CONFLICTS)))
    read = 0
    for filters in (EVERY_SENSITIVITY, _PASSAGES) if messages else ():
        cursor: str | None = None
        more = True
        while more:
            some = await store.ask(ListEvents(filters, limit=_AUDIT_PAGE, cursor=cursor, whole=True))
            own = [event for event in some.messages if event.user == store.scope.user]
            for finding in await background.run(partial(_secrets, own, background)):
                looking.add(finding)
            read += len(own)
            cursor = some.cursor
            more = cursor is not None
    findings = looking.findings()
    return Audit(memories=looking.memories, messages=read, counts=looking.counts, findings=findings)


def _look(looking: MemoryAudit, page: tuple[SizedMemory, ...], background: Background) -> None:
    for stored in page:
        looking.look(stored.memory)
        background.breath()


def _secrets(events: list[Event], background: Background) -> list[AuditFinding]:
    found = list[AuditFinding]()
    for event in events:
        finding = secret_finding(event.id, event.text)
        background.breath()
        if finding is not None:
            found.append(finding)
    return found
