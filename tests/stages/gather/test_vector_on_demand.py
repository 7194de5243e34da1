"""The query's vector, made where the search runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from germane import Germane
from germane.errors import EmbedderError
from germane.stages.gather.source import Skipped, VectorOnDemand
from germane.stores.sqlite.readers import SqliteReaders
from germane_testing.builders import Hashed
from support.gather_stubs import asking

QUESTION = [{"role": "user", "content": "Which tea does Caroline drink?"}]


class Counting(Hashed):
    """A quick embedder that keeps the texts it got, and fails where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.failing = False

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        if self.failing:
            raise EmbedderError("out of order")
        return super().embed_now(texts)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[tuple[Germane, Counting]]:
    embedder = Counting()
    async with Germane.open(tmp_path / "a.db", embedder=embedder) as germane:
        said = [("Caroline", "I drink green tea."), ("Ben", "Nothing beats coffee."), ("Caroline", "The shop sells tea.")]
        messages = [{"role": "user", "name": name, "content": text} for name, text in said]
        await germane.agent().record(messages, session="s")
        await germane.agent().remember("Caroline likes tea")
        await germane.agent().warm()
        embedder.asked.clear()
        yield germane, embedder


async def ask(germane: Germane) -> Any:
    return await germane.agent().assemble(QUESTION, model="gpt-4o", deadline=None)


@pytest.mark.requirement("GATHER-1", "SEARCH-4")
async def test_one_vector_serves_all_searches_of_a_request_without_the_speakers_names(
    opened: tuple[Germane, Counting],
) -> None:
    germane, embedder = opened
    context = await ask(germane)
    assert [text.split() for text in embedder.asked] == [["Which", "tea", "does", "drink?"]]
    (report,) = (report for report in context.metadata.sources if report.name == "embedding")
    assert report.status == "ok"
    assert any(item.scored.candidate.evidence.cos_own for item in context.items)


@pytest.mark.requirement("ENGINE-3", "GATHER-1")
async def test_a_failing_embedder_leaves_keywords(opened: tuple[Germane, Counting]) -> None:
    """The trace tells, and the next request tries again."""
    germane, embedder = opened
    embedder.failing = True
    context = await ask(germane)
    (report,) = (report for report in context.metadata.sources if report.name == "embedding")
    assert (report.status, report.reason) == ("error", "EmbedderError")
    assert context.metadata.degradation_level == 1
    assert "green tea" in context.added
    embedder.failing = False
    await germane.agent().remember("Ben likes coffee")  # so that no result is cached
    assert (await ask(germane)).metadata.degradation_level == 0


@pytest.mark.requirement("ENGINE-8")
async def test_all_that_a_request_gathers_is_four_trips_to_a_reader_thread(
    opened: tuple[Germane, Counting], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the second request on, as the first one tells how much there is to search."""
    germane, _ = opened
    await ask(germane)
    await germane.agent().remember("Ben likes coffee")
    trips: list[int] = []
    put = SqliteReaders._put

    def noted(readers: SqliteReaders, lane: Any, jobs: list[Any]) -> None:
        trips.append(len(jobs))
        put(readers, lane, jobs)

    monkeypatch.setattr(SqliteReaders, "_put", noted)
    context = await ask(germane)
    assert len(context.items) > 0
    assert len(trips) == 4, (
        "what is gathered, what the profile is made of, which talks an assistant takes part in, and the gate"
    )
    assert trips[2:] == [1, 1]


async def test_what_no_search_asked_for_is_told() -> None:
    """Nothing was wrong then."""
    made = VectorOnDemand(asking("tea"), Counting()).settled()
    assert isinstance(made.exception(), Skipped)
