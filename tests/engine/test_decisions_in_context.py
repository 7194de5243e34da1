"""Decisions in the context: they bind every task of the session, but for those of a branch that isn't seen (TASK-2, TASK-3)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from germane import Agent, Germane
from germane.types.context import Context

S = "work"


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with Germane.open(":memory:", warm=False) as germane:
        yield germane.agent("coder", user="ada")


async def decide(agent: Agent, text: str, type: str = "decision") -> None:
    current = await agent.tasks.peek(S)
    await agent.events.record(type, text, session=S, task=None if current is None else current.id)


async def asked(agent: Agent, strategy: str = "compact", session: str = S) -> Context:
    ask = [{"role": "user", "content": "Which zebra key do we use?"}]
    return await agent.assemble(ask, model="gpt-4o", session=session, strategy=strategy, deadline=None)


@pytest.mark.requirement("TASK-2")
async def test_a_decision_of_another_task_is_in_the_context_and_its_other_activity_is_not() -> None:
    """A task that only sees its own events would decide the same thing anew, and otherwise."""
    async with Germane.open(":memory:", warm=False) as germane:
        agent = germane.agent("coder", user="ada")
        await agent.tasks.push("Release", session=S)
        await agent.tasks.push("Choose the zebra key", session=S)
        await decide(agent, "The zebra key is the booking number")
        await decide(agent, "zebra key, a search of the files", type="search")
        await agent.tasks.pop("chosen", session=S)
        await agent.tasks.push("Send the request", session=S)
        context = await asked(agent)
        assert "The zebra key is the booking number" in context.added
        assert "a search of the files" not in context.added
        assert [item.reason for item in context.trace.left_out if item.scored.candidate.event_type] == ["other_task"]


@pytest.mark.requirement("TASK-3")
async def test_a_decision_on_a_branch_binds_the_others_only_once_it_is_injected(agent: Agent) -> None:
    """The branch sees what was decided before it left, and not what was decided afterwards."""
    await agent.tasks.push("Release", session=S)
    await decide(agent, "The zebra key is a number")
    await agent.tasks.branch("letters", "Try letters", session=S)
    await decide(agent, "The zebra key is a letter")
    context = await asked(agent)
    assert "is a number" in context.added
    assert "is a letter" in context.added
    await agent.tasks.pop("Letters work", session=S)
    await agent.tasks.switch("main", session=S)
    await decide(agent, "The zebra key is prime")
    context = await asked(agent)
    assert "is a number" in context.added
    assert "is a letter" not in context.added
    await agent.tasks.inject("letters", session=S)
    assert "is a letter" in (await asked(agent)).added


@pytest.mark.requirement("TASK-3")
async def test_an_abandoned_branch_binds_nobody(agent: Agent) -> None:
    await agent.tasks.push("Release", session=S)
    await agent.tasks.branch("letters", "Try letters", session=S)
    await decide(agent, "The zebra key is a letter")
    await agent.tasks.switch("main", session=S)
    await agent.tasks.abandon("letters", session=S)
    assert "is a letter" not in (await asked(agent)).added


@pytest.mark.requirement("TASK-2")
async def test_another_sessions_decision_for_its_own_task_stays_out(agent: Agent) -> None:
    await agent.tasks.push("Release", session=S)
    await decide(agent, "The zebra key is a number")
    await agent.tasks.push("Another release", session="other")
    assert "is a number" not in (await asked(agent, session="other")).added


@pytest.mark.requirement("TASK-2", "FORMAT-2")
async def test_the_strategy_of_an_archetype_shows_the_stack_in_its_own_section(agent: Agent) -> None:
    """From the root goal to the current task, before what happened."""
    await agent.tasks.push("Release the zebra", session=S)
    await agent.tasks.push("Choose the key", session=S)
    await decide(agent, "The zebra key is a number")
    added = (await asked(agent, "coding")).added
    places = [added.index(text) for text in ("## Tasks", "Root goal: Release the zebra", "Current task: Choose", "## Recent")]
    assert places == sorted(places)
