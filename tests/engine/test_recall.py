"""Recall reads no more than its limit needs, and returns what it would return if it read everything."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane import Agent, Filters, Germane
from germane.api.strategies import COMPOSITE, DEFAULT
from germane.engine.selection import best_of
from germane.search.relevance import shipped
from germane.stages.gather.gather import Gathered
from germane.stages.gather.merge import RequestContents
from germane.stages.gather.source import SearchDepth
from germane.stores.sql.events import reader as event_reader
from germane.stores.sqlite import store
from germane.types.candidate import Provenance, Scored
from germane.types.evidence import Evidence
from germane.types.strategy import Weights
from germane_testing.builders import MOMENT, candidate
from support.gather_stubs import asking
from support.scoped_stores import request

MESSAGES = 240
LIMITS = (1, 5, 10, 20, 60)
SPARE = 24
"""Messages beyond the limit that a recall may read."""
QUESTION = "Which lamp hangs over the kitchen table?"
QUICK = replace(DEFAULT, name="quick", weights=replace(DEFAULT.weights, recency=3.0))
"""Recency moves a message by up to 3 log-odds."""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages each search of messages has read from the file."""
    counts: list[int] = []

    def fetch(reading: Any, visible: Any, places: Any, best: Any) -> Any:
        counts.append(len(places))
        return event_reader.fetch_events(reading, visible, places, best)

    monkeypatch.setattr(store, "fetch_events", fetch)
    return counts


def _talk() -> Iterator[dict[str, Any]]:
    """Messages of growing age that answer more and less well, every fifth one twice."""
    words = ("lamp", "kitchen", "table", "hangs", "over")
    for number in range(MESSAGES):
        about = " ".join(words[: 1 + number % 5]) if number % 7 else f"A lamp over table {number % 5}"
        when = MOMENT - timedelta(hours=11 * number)
        yield {"id": f"m{number}", "role": "user", "content": f"{about}, told at {number // 5}?", "created_at": when}


@pytest.fixture
async def agent(read: list[int]) -> AsyncIterator[Agent]:
    """`read` counts what it reads."""
    async with Germane.open(":memory:") as germane:
        agent = germane.agent()
        await agent.record(list(_talk()), session="s1")
        await agent.remember("The kitchen lamp hangs low", kind="note")
        await agent.warm()
        read.clear()
        yield agent


def _known(found: tuple[Scored, ...]) -> list[tuple[str, float, tuple[str, ...]]]:
    return [(one.id, one.log_odds, one.candidate.also) for one in found]


@pytest.mark.parametrize("strategy", [DEFAULT, QUICK, COMPOSITE], ids=lambda one: one.name)
async def test_a_limit_returns_the_first_of_what_reading_everything_returns(agent: Agent, strategy: Any) -> None:
    """With recency that weighs little and much, duplicates and a memory."""
    for question in (QUESTION, "kitchen table", "Was anything told at 3?"):
        every = _known(await agent.search(question, 10_000, at=MOMENT, strategy=strategy))
        for limit in LIMITS:
            assert _known(await agent.search(question, limit, at=MOMENT, strategy=strategy)) == every[:limit]


@pytest.mark.parametrize("limit", LIMITS)
async def test_what_cannot_be_among_the_first_is_not_read(agent: Agent, read: list[int], limit: int) -> None:
    """The limit and a few more, and as many as recency could still raise."""
    await agent.search(QUESTION, limit, at=MOMENT, strategy=replace(DEFAULT, weights=Weights(relevance=0.0, recency=0.0)))
    assert len(read) == 1
    assert limit <= read[0] <= limit + SPARE


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (f"{QUESTION} See lamp_table.py", {}),
        (f'{QUESTION} I said "over table"', {}),
        (QUESTION, {"filters": Filters(exclude=frozenset({"m3"}))}),
        (QUESTION, {"strategy": COMPOSITE}),
    ],
    ids=["identifier", "phrase", "exclusion", "linear form"],
)
async def test_what_only_a_text_tells_is_looked_for_in_all(
    agent: Agent, read: list[int], question: str, options: dict[str, Any]
) -> None:
    """Letters of the question, what is excluded, and a form without a bound on what may move."""
    await agent.search(question, 5, at=MOMENT, **options)
    assert read[0] >= 80


async def test_results_that_are_excluded_leave_no_gap(agent: Agent) -> None:
    """The next best take their place."""
    best = await agent.search(QUESTION, 60, at=MOMENT)
    names = [one.candidate.provenance.message_id for one in best[:50]]
    exclude = frozenset(name for name in names if name)
    rest = await agent.search(QUESTION, 10, at=MOMENT, filters=Filters(exclude=exclude))
    assert len(rest) == 10
    assert not {one.candidate.provenance.message_id for one in rest} & exclude


@pytest.mark.requirement("GATHER-3")
@pytest.mark.parametrize(("stored", "known", "searches"), [(5, True, 1), (60, True, 2), (5, False, 1), (60, False, 2)])
async def test_a_message_stands_for_what_was_extracted_from_it_however_faint_it_is(
    stored: int, known: bool, searches: int
) -> None:
    """What was extracted ranks first; where its message may be one of those that weren't read, all are."""
    messages = [candidate(f"tea {number}", evidence=Evidence(own=1 - number / 100)) for number in range(stored)]
    message = candidate("I prefer oolong", evidence=Evidence())
    origin = Provenance(refs=(message.id,), metadata={"extracted": "prefer"})
    memory = candidate("Prefers oolong", source="memories", evidence=Evidence(own=1, curated=1.0), provenance=origin)
    depths: list[SearchDepth] = []

    async def search(depth: SearchDepth) -> Gathered:
        depths.append(depth)
        found = ([*messages, message] if known else messages)[: depth.leading]
        return Gathered(query=asking(), directive=None, candidates=(memory, *found), reports=())

    (best,) = await best_of(search, request(), RequestContents(()), DEFAULT, shipped(), 1)
    assert (best.id, best.candidate.also) == ((message.id, ("memories",)) if known else (memory.id, ()))
    assert len(depths) == searches
