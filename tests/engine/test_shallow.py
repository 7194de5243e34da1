"""In a crowd every call gets the best of what it would have got, rather than a few everything and the others nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from germane import Germane
from germane.clock import Clock
from germane.engine.admission import AdmissionQueue, Overloaded, Searching, Slot
from germane.engine.assembly import Deadline
from germane.stages.gather.builtin import DEEP
from germane.stages.gather.source import search_depth
from germane.types.context import Context
from germane.types.evidence import Unread
from germane_testing.builders import candidate
from germane_testing.time_warp import warped
from support.scoped_stores import idle

pytestmark = pytest.mark.requirement("ENGINE-12", "ENGINE-10")

FULL, SHALLOW = 0.010, 0.006


def now() -> float:
    return asyncio.get_running_loop().time()


async def crowd(admission: AdmissionQueue, calls: int, seconds: float = 0.25, org: str = "acme") -> list[Searching | None]:
    """How far each of the calls of one moment searches, in their order; None where it was refused. Each takes as long as it
    searches far, all of it for gathering."""

    async def call() -> Searching | None:
        try:
            slot = await admission.acquire(Deadline.of(now(), seconds), Clock(), org)
        except Overloaded:
            return None
        assert slot is not None
        await asyncio.sleep(FULL if slot.searching == "full" else SHALLOW)
        slot.gathered = now()
        slot.end(now())
        return slot.searching

    return await asyncio.gather(*(call() for _ in range(calls)))


def queue(*orgs: str) -> AdmissionQueue:
    """An idle queue that knows how long a full search of these orgs takes."""
    admission = idle(1)
    for org in orgs or ("acme",):
        admission.learn(org, FULL, FULL)
    return admission


@warped
async def test_a_crowd_that_is_in_time_searches_in_full() -> None:
    assert await crowd(queue(), 22) == ["full"] * 22


@warped
async def test_a_larger_crowd_searches_as_far_as_it_has_time() -> None:
    """The last ones in full again: nobody waits behind them."""
    for calls in (25, 30, 35):
        found = Counter(await crowd(queue(), calls))
        assert found[None] == found["none"] == 0
        assert FULL * found["full"] + SHALLOW * found["shallow"] <= 0.225 + FULL
        assert found["full"] >= (0.225 - SHALLOW * calls) / (FULL - SHALLOW) - 1.5


@warped
async def test_a_crowd_too_large_for_that_serves_more_than_full_searches_would() -> None:
    """Of 22 in full, 37 are in time."""
    found = await crowd(queue(), 45)
    assert found[:36] == ["shallow"] * 36


@warped
async def test_who_would_be_late_with_a_full_search_makes_a_shallow_one() -> None:
    """Begun at 32 ms of 40."""
    admission = queue()
    first = await admission.acquire(Deadline.of(now(), 0.048), Clock(), "acme")
    assert first is not None
    first._timer.cancel()
    waiting = asyncio.ensure_future(crowd(admission, 1, 0.048))
    await asyncio.sleep(0.032)
    first.gathered = now()
    first.end(now())
    assert await waiting == ["shallow"]


@warped
async def test_a_crowd_costs_only_its_own_org_its_depth() -> None:
    """The neighbour's call comes between those of the crowd, and searches in full."""
    admission, many, own = queue("acme", "other"), list[asyncio.Future[list[Searching | None]]](), list[Searching | None]()
    for at in range(600):
        many.append(asyncio.ensure_future(crowd(admission, 1)))
        await asyncio.sleep(FULL / 3)
        if at % 30 == 29:
            own += await crowd(admission, 1, org="other")
    assert own == ["full"] * 20
    found = Counter([searching for one in many for searching in await one])
    assert found[None] > 100
    assert found["shallow"] > 200


@pytest.mark.parametrize("seconds", [0.048, 0.25])
@pytest.mark.parametrize(
    ("load", "full", "served"), [(0.8, 0.95, 0.995), (1.0, 0.75, 0.98), (1.3, 0.4, 0.97), (2, 0.0, 0.8), (10, 0.0, 0.16)]
)
@warped
async def test_under_lasting_overload_searches_are_as_far_as_leaves_time_for_all(
    load: float, full: float, served: float, seconds: float
) -> None:
    """Calls come at random, so many times as many as full searches could serve. Shallow ones could serve 1.67 times as many."""
    admission, found, random = queue(), Counter[Searching | None](), Random(1)

    async def call() -> None:
        found.update(await crowd(admission, 1, seconds))

    tasks = []
    for _ in range(1500):
        tasks.append(asyncio.ensure_future(call()))
        await asyncio.sleep(FULL / load * random.uniform(0.1, 1.9))
    await asyncio.gather(*tasks)
    assert found["full"] >= full * 1500
    assert found["full"] + found["shallow"] >= served * 1500


@warped
async def test_how_far_to_search_is_decided_under_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several event loops use one queue, and what it counts mustn't change meanwhile."""
    locked, crowded = list[bool](), AdmissionQueue._crowded

    def noting(admission: AdmissionQueue, org: str, at: float) -> bool:
        locked.append(admission._lock.locked())
        return crowded(admission, org, at)

    monkeypatch.setattr(AdmissionQueue, "_crowded", noting)
    await crowd(queue(), 5)
    assert locked == [True] * 5


@warped
async def test_who_waits_for_everything_searches_in_full() -> None:
    """And changes nothing for the others."""
    assert await queue().acquire(Deadline.of(now(), None), Clock(), "acme") is None


def test_a_shallow_search_looks_for_sixteen() -> None:
    usual = search_depth(8_000, None, 0.002)
    assert usual.shallow() == usual._replace(max_items=16, max_stated=16)
    assert usual._replace(max_items=9).shallow().max_items == 9


@pytest.mark.parametrize(
    ("messages", "memories", "unread", "reached"), [(15, 15, 0, False), (16, 0, 0, True), (10, 9, 6, True)]
)
def test_a_search_that_finds_fewer_than_it_looked_for_missed_nothing(
    messages: int, memories: int, unread: int, reached: bool
) -> None:
    """Nor did one that doesn't search, such as that of what is pinned."""
    found = [candidate("x", source="messages")] * messages + [candidate("x", source="memories")] * memories
    found += [candidate("x", source="structured")] * 20
    left = [Unread(str(at), "events", -3.0, 40) for at in range(unread)]
    assert search_depth(8_000, None, 0.0).shallow().reached(found, left, DEEP) is reached


class Crowded(AdmissionQueue):
    """Gives each call a slot for a shallow search."""

    async def acquire(self, deadline: Deadline, clock: Clock, org: str) -> Slot:
        return Slot(self, org, clock.steady(), "shallow")


def races(count: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"My greyhound ran race {at} in {at + 5} minutes."} for at in range(count)]


async def answer(
    path: Path, stored: int, monkeypatch: pytest.MonkeyPatch, asked: str = "How fast did my greyhound run?"
) -> Context:
    monkeypatch.setattr("germane.api.wiring.AdmissionQueue", Crowded)
    async with Germane.open(path) as germane:
        agent = germane.agent("assistant", user="caroline")
        await agent.record(races(stored), session="s")
        question = [{"role": "user", "content": asked}]
        return await agent.assemble(question, model="gpt-4o", deadline=20.0)


def searched(context: Context) -> list[str]:
    """The ids of what is shown besides the profile."""
    return [item.id for item in context.items if item.source != "profile"]


async def test_an_answer_of_a_shallow_search_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = await answer(tmp_path / "s.db", 60, monkeypatch)
    assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (1, "shallow")
    assert 8 <= len(searched(context)) <= 16
    said = "other calls were waiting: each search looked for its best 16 results and no further"
    assert said in context.metadata.warnings
    assert said in context.explain()
    assert "greyhound" in context.added


async def test_where_nothing_is_needed_nothing_was_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen were found, and none of them goes in."""
    context = await answer(tmp_path / "s.db", 60, monkeypatch, "Please write a poem about what ran through the race of time.")
    assert sum(source.found for source in context.metadata.sources if source.name == "messages") == 16
    assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (0, "")
    assert searched(context) == []


async def test_what_a_shallow_search_found_is_not_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where it added nothing: a full search would have counted more."""
    monkeypatch.setattr("germane.api.wiring.AdmissionQueue", Crowded)
    async with Germane.open(tmp_path / "s.db") as germane:
        agent = germane.agent("assistant", user="caroline")
        await agent.record(races(60), session="s")
        for text in ("How fast did my greyhound run?", "Please write a poem about what ran through the race of time."):
            for _ in range(2):
                context = await agent.assemble([{"role": "user", "content": text}], model="gpt-4o", deadline=20.0)
                assert not context.metadata.cached


async def test_memories_and_archival_entries_are_searched_as_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is pinned goes in all the same."""
    monkeypatch.setattr("germane.api.wiring.AdmissionQueue", Crowded)
    async with Germane.open(tmp_path / "s.db") as germane:
        agent = germane.agent("assistant", user="caroline")
        for at in range(30):
            await agent.remember(f"The greyhound ran race {at} in {at + 5} minutes", pinned=at < 20)
        question = [{"role": "user", "content": "How fast did the greyhound run each race?"}]
        context = await agent.assemble(question, model="gpt-4o", deadline=20.0)
    found = {source.name: source.found for source in context.metadata.sources}
    assert (found["memories"], found["structured"]) == (16, 20)
    assert context.metadata.fallback_reason == "shallow"


async def test_where_nothing_was_missed_it_is_a_full_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = await answer(tmp_path / "s.db", 12, monkeypatch)
    assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (0, "")
    assert context.items
    assert not context.metadata.warnings
