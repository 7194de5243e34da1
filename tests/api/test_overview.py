"""Overviews: a summary or an order of events is answered from the outlines, by time; what may not be shown isn't in them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from germane import Agent, Germane, derive
from germane.types.context import Context

pytestmark = pytest.mark.requirement("HIST-5")

TOPICS = (
    ("Please plan the trip to Rome in May", "Two weeks are enough: fly to Rome on 4 May and take the train to Naples."),
    ("Fix the login form of the shop", "The login form works again: the session cookie had no path."),
    ("Which tea does Anna like best?", "Anna likes Darjeeling best, as she said in March."),
)
ASKED = [{"role": "user", "content": "Summarise what we discussed, in order"}]


@pytest.fixture
async def germane() -> AsyncIterator[Germane]:
    async with Germane.open(":memory:") as opened:
        yield opened


@pytest.fixture
async def agent(germane: Germane) -> Agent:
    """Three exchanges that have ended, and one that goes on."""
    agent = germane.agent(user="anna")
    for number, (wish, answer) in enumerate(TOPICS):
        said = [{"role": "user", "content": wish, "id": f"u{number}"}, {"role": "assistant", "content": answer}]
        await agent.record(said, session="long")
    await agent.record([{"role": "user", "content": "Thanks!"}], session="long")
    return agent


async def asked(agent: Agent, text: str = "", **options: object) -> Context:
    messages = [{"role": "user", "content": text}] if text else ASKED
    return await agent.assemble(messages, model="gpt-4o", deadline=None, **{"strategy": "compact", **options})  # type: ignore[arg-type]


def lines_of(context: Context) -> list[str]:
    return [item.text for item in context.items if item.category == "outline"]


async def test_a_summary_is_answered_from_the_outline_by_time(agent: Agent) -> None:
    """Each exchange is one thing: its line stands there, or its first message, and not both."""
    context = await asked(agent)
    lines = lines_of(context)
    assert len(lines) == 3
    assert [word in line for word, line in zip(("Rome", "login", "Anna"), lines, strict=True)] == [True] * 3
    assert not any(item.text == TOPICS[0][0] for item in context.items)
    assert " outline\n" in context.added
    assert {report.name: report.status for report in context.trace.sources}["outline"] == "ok"


@pytest.mark.parametrize("format", ["xml", "markdown"])
async def test_every_format_writes_an_outline_by_time(germane: Germane, agent: Agent, format: str) -> None:
    strategy = derive(germane.strategies.find("compact"), {"name": f"as-{format}", "format": format})
    added = (await asked(agent, strategy=strategy)).added
    assert added.index("Rome") < added.index("login") < added.index("Anna")
    assert ("<outline_memories" in added) or ("## Outline" in added)


async def test_another_question_gets_no_outline(agent: Agent) -> None:
    context = await asked(agent, "Which tea does Anna like?")
    assert lines_of(context) == []
    assert {report.name: report.reason for report in context.trace.sources}["outline"] == "no_overview"


async def test_what_is_forgotten_is_in_no_line(agent: Agent) -> None:
    found = await agent.search("Rome in May")
    await agent.forget([item.id for item in found if "Rome" in item.candidate.text])
    assert "Rome" not in (await asked(agent)).added


async def test_nothing_of_another_user_is_in_an_outline(germane: Germane, agent: Agent) -> None:
    other = germane.agent(user="ben")
    assert lines_of(await asked(agent)) != []
    assert lines_of(await asked(other)) == []
