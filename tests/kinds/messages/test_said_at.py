"""Said at: a recording that had to wait keeps its time, and stops where its session or owner was forgotten since (PROXY-1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from germane import Agent, Germane
from germane.errors import Conflict, InvalidInput
from support.calendar import Calendar

pytestmark = pytest.mark.requirement("PROXY-1")


def said(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"message {number}"} for number in range(count)]


@pytest.mark.parametrize("count", [3, 300])
async def test_messages_without_a_time_get_the_time_at_which_they_were_said(
    agent: Agent, calendar: Calendar, count: int
) -> None:
    """In their order, also in slices; a time of their own stays."""
    asked = calendar.moment
    calendar.advance(hours=5)
    own = asked - timedelta(days=1)
    messages = [*said(count), {"role": "user", "content": "earlier", "created_at": own}]
    await agent.record(messages, session="s", said_at=asked)
    page = await agent.messages("s", limit=1000)
    times = [one.created_at for one in sorted(page.messages, key=lambda one: one.position)]
    assert times == [*(asked + timedelta(microseconds=number) for number in range(count)), own]
    assert min(one.recorded_at for one in page.messages) == calendar.moment


async def test_a_naive_time_is_the_scopes(germane: Germane, calendar: Calendar) -> None:
    agent = germane.agent("support", zone="Europe/Vienna")
    await agent.record(said(1), session="s", said_at=calendar.moment.replace(tzinfo=None))
    (message,) = (await agent.messages("s")).messages
    assert message.created_at == calendar.moment - timedelta(hours=1)


@pytest.mark.parametrize("count", [1, 300])
async def test_what_was_forgotten_since_is_not_recorded(agent: Agent, calendar: Calendar, count: int) -> None:
    asked = calendar.moment
    calendar.advance(hours=1)
    await agent.forget(session="s")
    with pytest.raises(Conflict, match="forgotten since"):
        await agent.record(said(count), session="s", said_at=asked)
    assert (await agent.messages("s")).messages == ()
    calendar.advance(hours=1)
    assert (await agent.record(said(count), session="s", said_at=calendar.moment)).added
    assert (await agent.record(said(1), session="t")).added


async def test_it_must_be_a_time(agent: Agent) -> None:
    odd: Any = "noon"
    with pytest.raises(InvalidInput, match="said_at"):
        await agent.record(said(1), session="s", said_at=odd)
