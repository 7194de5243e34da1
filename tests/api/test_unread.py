"""What a search found and nobody read: named in the trace, and read when somebody looks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from germane import Context, Germane
from germane.api.agent import Agent
from germane.types.trace import explain

QUESTION = [{"role": "user", "content": "Which violin teacher did Ana find in Lisbon?"}]
ANSWER = "Ana: I found a violin teacher in Lisbon at last, her name is Marta Sousa."


@pytest.fixture
async def germane() -> AsyncIterator[Germane]:
    async with Germane.open(":memory:") as opened:
        yield opened


@pytest.fixture
async def agent(germane: Germane) -> Agent:
    """A user with one answer among two hundred messages that share a word with the question at most."""
    talk = [f"Ana went to see the garden number {number} in the morning and liked it a little" for number in range(200)]
    agent = germane.agent(user="ana")
    for session in range(10):
        said = talk[20 * session : 20 * session + 20] + ([ANSWER] if session == 4 else [])
        await agent.record([{"role": "user", "content": text} for text in said], session=f"s{session}")
    return agent


async def asked(agent: Agent, **more: object) -> Context:
    return await agent.assemble(QUESTION, model="gpt-4o", deadline=None, **more)  # type: ignore[arg-type]


@pytest.mark.requirement("AMOUNT-3", "ENGINE-5")
async def test_what_cannot_be_worth_its_tokens_is_named_and_not_read(agent: Agent) -> None:
    context = await asked(agent)
    assert "Marta Sousa" in context.added
    unread = context.trace.unread
    assert len(unread) > 10
    assert [one.probability for one in unread] == sorted((one.probability for one in unread), reverse=True)
    read = {item.id for item in context.trace.chosen} | {item.id for item in context.trace.left_out}
    assert read.isdisjoint({one.id for one in unread})
    assert context.metadata.memories_available == len(read) + len(unread)
    assert unread[0].id in explain(context.trace)


@pytest.mark.requirement("AMOUNT-3")
async def test_a_budget_that_is_to_be_used_leaves_nothing_unread(agent: Agent) -> None:
    """And what is found with a price and without is the same."""
    filled, priced = await asked(agent, max_tokens=3_000), await asked(agent)
    assert filled.trace.unread == ()
    assert {item.id for item in priced.trace.chosen} <= {item.id for item in filled.trace.chosen}


@pytest.mark.requirement("ENGINE-5", "SCOPE-2")
async def test_texts_are_read_when_somebody_looks_and_what_was_forgotten_is_gone(agent: Agent, germane: Germane) -> None:
    """Another user's agent reads none."""
    first, second, *_ = [one.id for one in (await asked(agent)).trace.unread]
    assert "garden" in (await agent.texts([first]))[first]
    await agent.forget(ids=[first])
    assert (await agent.texts([first, second, "unknown"])).keys() == {second}
    assert await germane.agent(user="ben").texts([second]) == {}
