"""Fill: an agent that holds the messages and memories of a conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from germane import Agent, Germane, InvalidInput
from germane.types.message import Message
from germane_eval.dataset import Conversation, Stated, fill

BEGAN = datetime(2024, 5, 1, 9, tzinfo=UTC)


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with Germane.open(":memory:") as germane:
        yield germane.agent("filled")


def conversation(*memories: Stated, count: int = 3) -> Conversation:
    said = [Message.of("user", f"Entry {n} of the log", id=f"m{n}", created_at=BEGAN + timedelta(n)) for n in range(count)]
    return Conversation(name="c", sessions={"a": said[:2], "b": said[2:]}, questions=(), memories=memories)


async def shown(agent: Agent, question: str, at: datetime) -> set[str | None]:
    asked = [{"role": "user", "content": question}]
    context = await agent.assemble(asked, model="gpt-4o", at=at, deadline=None)
    return {item.provenance.message_id for item in context.items}


@pytest.mark.requirement("EVAL-1")
async def test_every_message_is_recorded_under_its_own_id_and_session(agent: Agent) -> None:
    """Messages are recorded in batches, and the progress adds up to their number."""
    steps: list[int] = []
    await fill(agent, conversation(count=403), progress=steps.append)
    exported = [row async for row in agent.export() if row["type"] == "message"]
    assert [(row["session"], row["id"]) for row in exported][:3] == [("a", "m0"), ("a", "m1"), ("b", "m2")]
    assert len(exported) == sum(steps) == 403
    assert max(steps) < 403


@pytest.mark.requirement("EVAL-1")
async def test_a_stated_memory_is_known_again_by_its_given_id(agent: Agent) -> None:
    """Its provenance carries it; it holds from the first message on, so that the clock may stand at any time after."""
    await fill(agent, conversation(Stated(id="dog", text="The greyhound is called Biscuit", kind="preference")))
    assert "dog" in await shown(agent, "What is the greyhound called?", BEGAN + timedelta(hours=1))
    assert "dog" not in await shown(agent, "What is the greyhound called?", BEGAN - timedelta(hours=1))


async def test_of_facts_on_a_key_the_last_one_holds(agent: Agent) -> None:
    """A later fact replaces an earlier one, as it does for users."""
    cities = [Stated(id=city, kind="fact", given={"key": "city", "value": city}) for city in ("Graz", "Vienna")]
    await fill(agent, conversation(*cities))
    found = await shown(agent, "Which city?", BEGAN + timedelta(days=9))
    assert "Vienna" in found
    assert "Graz" not in found


async def test_a_memory_that_is_refused_is_named(agent: Agent) -> None:
    """The error names the memory and its conversation."""
    ended = Stated(id="old", text="Lived in Graz", given={"valid_to": "2020-01-01"})
    with pytest.raises(InvalidInput, match="conversation c, memory old: valid_to"):
        await fill(agent, conversation(ended))
