"""Outdated messages: what a request shows beside a message that a later one made outdated."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from germane import Agent, Germane
from germane.types.context import Context

LATER = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with Germane.open(":memory:") as germane:
        yield germane.agent("helper", user="ada")


async def say(agent: Agent, text: str, day: int) -> str:
    message = {"role": "user", "content": text, "created_at": f"2026-05-{day:02}T10:00:00Z"}
    recorded = await agent.record([message], session=f"s{day}")
    return recorded.added[0]


async def ask(agent: Agent, text: str, at: datetime = LATER) -> Context:
    asked = [{"role": "user", "content": text}]
    return await agent.assemble(asked, model="gpt-4o", strategy="compact", max_tokens=600, session="now", at=at, deadline=None)


def shown(context: Context) -> str:
    return context.added


@pytest.mark.requirement("PERSON-4")
@pytest.mark.parametrize(
    ("first", "second", "question"),
    [
        ("I live in Leeds, near the river.", "We don't live in Leeds anymore, all sold!", "Where in Leeds do I live?"),
        ("I like karaoke at the Crown.", "I don't like karaoke anymore.", "karaoke at the Crown?"),
        ("Always quote prices in francs.", "Ignore that rule about francs.", "Should prices be in francs?"),
    ],
)
async def test_what_made_a_message_outdated_stands_beside_it(agent: Agent, first: str, second: str, question: str) -> None:
    """The outdated message has its mark, and the later one is shown too, whatever its own words are."""
    await say(agent, first, 1)
    newer = await say(agent, second, 8)
    context = await ask(agent, question)
    assert "(outdated since 2026-05-08" in shown(context)
    assert newer in {item.id for item in context.items}


@pytest.mark.requirement("PERSON-4")
async def test_as_of_an_earlier_day_nothing_is_outdated(agent: Agent) -> None:
    """Before the later message was said, there is neither a mark nor that message."""
    await say(agent, "I like karaoke at the Crown.", 1)
    newer = await say(agent, "I don't like karaoke anymore.", 8)
    context = await ask(agent, "karaoke at the Crown?", at=datetime(2026, 5, 5, tzinfo=UTC))
    assert "outdated" not in shown(context)
    assert newer not in {item.id for item in context.items}


@pytest.mark.requirement("PERSON-4", "FORGET-1")
async def test_forgetting_either_message_removes_the_link(agent: Agent) -> None:
    """A message whose successor was forgotten has no mark any more, and the store holds nothing of the link."""
    older = await say(agent, "I like karaoke at the Crown.", 1)
    newer = await say(agent, "I don't like karaoke anymore.", 8)
    await agent.forget(newer)
    assert "outdated" not in shown(await ask(agent, "karaoke at the Crown?"))
    again = await say(agent, "I don't like karaoke anymore.", 9)
    await agent.forget(older)
    assert again in {item.id for item in (await ask(agent, "do I like karaoke?")).items}


@pytest.mark.requirement("PERSON-4", "GATHER-5")
async def test_what_may_not_be_seen_is_not_brought_along() -> None:
    """A later message with a secret in it is sensitive, and isn't shown beside the one that it makes outdated."""
    async with Germane.open(":memory:", secrets="tag") as germane:
        agent = germane.agent("helper", user="ada")
        await say(agent, "I like karaoke at the Crown.", 1)
        newer = await say(agent, "I don't like karaoke anymore, my key is AKIAIOSFODNN7EXAMPLE.", 8)
        context = await ask(agent, "karaoke at the Crown?")
        assert newer not in {item.id for item in context.items}


@pytest.mark.requirement("PERSON-4", "MEM-3")
async def test_an_export_carries_what_is_outdated() -> None:
    """Restored elsewhere, the message has its mark, and the later one stands beside it."""
    async with Germane.open(":memory:") as germane, Germane.open(":memory:") as other:
        agent = germane.agent("helper", user="ada")
        await say(agent, "I like karaoke at the Crown.", 1)
        await say(agent, "I don't like karaoke anymore.", 8)
        await other.restore(germane.export())
        context = await ask(other.agent("helper", user="ada"), "karaoke at the Crown?")
        assert "(outdated since 2026-05-08)" in shown(context)


@pytest.mark.requirement("PERSON-4")
async def test_a_chain_of_changes_ends_with_the_newest(agent: Agent) -> None:
    """What made a message outdated may be outdated itself: the newest stands beside both."""
    await say(agent, "I live in Leeds, near the river.", 1)
    await say(agent, "I moved to Bradford.", 8)
    newest = await say(agent, "I moved to Ripon.", 9)
    assert newest in {item.id for item in (await ask(agent, "Where near the river do I live?")).items}
