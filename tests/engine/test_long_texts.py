"""A long stored text: found by any part of it, shown by the part that matches, read whole by nobody but an export."""

from __future__ import annotations

import threading

import pytest

from germane import Agent, Germane
from germane.engine.admission import AdmissionQueue
from germane.stores.contract import EmbedsLater
from support.calendar import Opening

FILLER = " ".join(f"filler{number}" for number in range(4_000))
NEEDLE = "Caroline keeps the spare key under the blue flowerpot."
LONG = f"{FILLER} {NEEDLE} {FILLER}"
ASKED = [{"role": "user", "content": "Where does Caroline keep the spare key?"}]


@pytest.fixture
async def told(agent: Agent) -> Agent:
    await agent.record([{"role": "user", "content": LONG}, {"role": "assistant", "content": "Noted."}], session="s1")
    return agent


@pytest.mark.requirement("LIMITS-3")
async def test_the_matching_part_is_shown_and_told_as_a_part(told: Agent) -> None:
    """With its place in the whole, and a share far below one."""
    context = await told.assemble(ASKED, model="gpt-4o", strategy="compact", deadline=None)
    assert "under the blue flowerpot" in context.added
    (item,) = [item for item in context.items if "flowerpot" in item.text]
    assert 0 < item.share < 0.1
    assert context.metadata.was_truncated


async def test_recall_gives_the_matching_passage(told: Agent) -> None:
    (found,) = [one.candidate for one in await told.search("spare key flowerpot") if NEEDLE in one.candidate.text]
    assert found.passage is not None
    assert found.passage.size == len(LONG)


async def test_an_export_has_the_whole_text(told: Agent) -> None:
    texts = [one["content"] async for one in told.export() if one["type"] == "message"]
    assert LONG in texts


@pytest.mark.requirement("GATHER-2a")
async def test_a_long_text_in_the_request_is_not_injected_again(told: Agent) -> None:
    """It is known by its passage, without being hashed; another text of that length isn't taken for it."""
    again = await told.assemble(
        [{"role": "user", "content": LONG}, *ASKED], model="gemini-2.5-pro", strategy="compact", deadline=None
    )
    assert "flowerpot" not in again.added
    other = LONG.replace("blue flowerpot", "grey flowerpot")
    beside = await told.assemble(
        [{"role": "user", "content": other}, *ASKED], model="gemini-2.5-pro", strategy="compact", deadline=None
    )
    assert "blue flowerpot" in beside.added


async def test_the_running_session_gives_the_passage_that_matches(told: Agent) -> None:
    """Though its history only knows the beginning."""
    context = await told.assemble(ASKED, model="gpt-4o", session="s1", strategy="compact", deadline=None)
    assert "under the blue flowerpot" in context.added


@pytest.mark.requirement("LIMITS-3")
async def test_every_part_has_its_vector_when_recording_returns(germane: Germane, agent: Agent) -> None:
    """Those that its own commit, or one shared with other calls, had no time for are made afterwards."""
    said = [{"role": "user", "content": f"{number} " + "日記を書いた。" * 700} for number in range(30)]
    await agent.record(said, session="s1")
    store = germane._open.store
    assert isinstance(store, EmbedsLater)
    assert await store.stale_vectors() == 0


@pytest.mark.requirement("LIMITS-3")
async def test_the_thread_that_makes_vectors_asks_whether_an_assembly_is_at_work(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the event loop's thread nor the one that analyses recordings does it."""
    asked = set[str]()

    def busy(_: AdmissionQueue) -> bool:
        asked.add(threading.current_thread().name)
        return False

    monkeypatch.setattr(AdmissionQueue, "busy", busy)
    async with opening() as germane:
        await germane.agent("support").record([{"role": "user", "content": f"{LONG} {LONG} {LONG}"}], session="s1")
        store = germane._open.store
        assert isinstance(store, EmbedsLater)
        assert await store.stale_vectors() == 0
    assert [name for name in asked if name.startswith("asyncio")]
