"""Counts of what was injected: in batches, after the answers, and never in the way."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, cast

import pytest

from germane.api.workers.batch_writers import RetrievalCounter
from germane.errors import StoreUnavailable
from germane.kinds.memories.reads import CountRetrievals
from germane.stores.contract import Store
from germane.types.plan import replay
from germane.types.scope import Scope
from germane_testing.faults import Hang, faulty
from germane_testing.time_warp import warped
from support.rendering import chosen

ANN, BO = Scope(user="ann"), Scope(user="bo")


class Counting:
    """A store that counts; each commit takes a moment, and may fail."""

    def __init__(self, *, error: Exception | None = None, read_only: bool = False) -> None:
        self.read_only, self.error = read_only, error
        self.counts: dict[Scope, Counter[str]] = {}
        self.commits = 0

    def within(self, scope: Scope) -> Any:
        counting = self

        class Scoped:
            async def commit(self, plan: Any) -> Any:
                await asyncio.sleep(0.1)
                counting.commits += 1
                if counting.error is not None and scope == ANN:
                    raise counting.error
                decision = replay(plan, {})
                for change in decision.changes:
                    assert isinstance(change, CountRetrievals)
                    counting.counts.setdefault(scope, Counter()).update(change.ids)
                return decision.outcome

        return Scoped()


def noting(store: Counting) -> RetrievalCounter:
    return RetrievalCounter(cast("Store", store))


@pytest.mark.requirement("MEM-5")
@warped
async def test_only_memories_are_counted_of_what_was_injected() -> None:
    """Messages, events, documents, tasks and the graph have no such count."""
    store = Counting()
    retrievals = noting(store)
    others = ("conversation", "activity", "document", "task", "entity", "relation", "pattern", "archival", "block")
    retrievals.injected(ANN, [chosen(one, id=one, category=one) for one in (*others, "additional", "factual")])
    await retrievals.close()
    assert store.counts == {ANN: Counter({"factual": 1})}


@pytest.mark.requirement("MEM-5")
@warped
async def test_counts_of_a_second_are_written_as_one() -> None:
    """After the answers, a commit a scope; a memory injected twice counts twice."""
    store = Counting()
    retrievals = noting(store)
    for _ in range(10):
        retrievals.note(ANN, ["a", "b"])
        await asyncio.sleep(0.05)
    retrievals.note(BO, ["a"])
    assert store.commits == 0
    await asyncio.sleep(1.5)
    assert store.commits == 2
    assert store.counts == {ANN: Counter(a=10, b=10), BO: Counter(a=1)}
    retrievals.note(ANN, ["a"])
    await asyncio.sleep(1.5)
    assert (store.commits, store.counts[ANN]["a"]) == (3, 11)


@pytest.mark.requirement("MEM-5")
@pytest.mark.parametrize("error", [StoreUnavailable("full"), OSError("gone"), RuntimeError("odd")])
@warped
async def test_a_store_that_fails_costs_its_counts_and_nothing_else(error: Exception) -> None:
    """Nothing is raised, other scopes are written, later counts too."""
    store = Counting(error=error)
    retrievals = noting(store)
    retrievals.note(ANN, ["a"])
    retrievals.note(BO, ["b"])
    await asyncio.sleep(2)
    store.error = None
    retrievals.note(ANN, ["a"])
    await retrievals.close()
    assert store.counts == {BO: Counter(b=1), ANN: Counter(a=1)}


@pytest.mark.requirement("MEM-5")
@pytest.mark.parametrize("after", [0.0, 0.5, 1.05])
@warped
async def test_closing_writes_what_was_noted(after: float) -> None:
    """At once, during the pause, or while a batch is being written; and leaves no task behind."""
    store = Counting()
    retrievals = noting(store)
    retrievals.note(ANN, ["a"])
    if after:
        await asyncio.sleep(after)
    await retrievals.close()
    assert store.counts == {ANN: Counter(a=1)}
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.requirement("MEM-5", "ENGINE-4")
@warped
async def test_a_store_that_never_writes_holds_one_task_and_does_not_stop_the_closing() -> None:
    """However long it hangs; what waits is bounded."""
    store = Counting()
    hanging = faulty(store.within(ANN), Hang(), "commit")
    store.within = lambda _: hanging  # type: ignore[method-assign, assignment]
    retrievals = noting(store)
    for _ in range(60):
        retrievals.note(ANN, ["a"] * 1000)
        await asyncio.sleep(1)
    assert len(asyncio.all_tasks()) == 2
    assert len(retrievals._writer) == 10_000
    await retrievals.close()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@warped
async def test_nothing_to_count_starts_nothing() -> None:
    """Nor does a store that can't be written."""
    locked = Counting(read_only=True)
    for store, ids in ((Counting(), list[str]()), (locked, ["a"])):
        noting(store).note(ANN, ids)
        assert asyncio.all_tasks() == {asyncio.current_task()}
