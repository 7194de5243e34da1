"""Events of tasks: an event belongs to the task at which its session stands, unless the caller says otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from germane import Agent, Germane
from germane.extraction.archetypes.findings import Findings
from germane.extraction.archetypes.value import Archetype, ContextWeights
from germane.kinds.events.value import Event, NewEvent

pytestmark = pytest.mark.requirement("TASK-1")


async def _tasks(agent: Agent) -> list[str | None]:
    return [event.task for event in reversed((await agent.events.list("s")).events)]


async def test_an_event_belongs_to_the_current_task(agent: Agent) -> None:
    """That of its own session, after each push and pop; none before the first task and after the last."""
    await agent.events.record("note", "before", session="s")
    root = await agent.tasks.push("Ship it", session="s")
    await agent.events.record("note", "one", session="s")
    leaf = await agent.tasks.push("Test it", session="s")
    await agent.events.record("note", "two", session="s")
    await agent.events.record("note", "elsewhere", session="t")
    await agent.tasks.pop("It works", session="s")
    await agent.events.record_many([{"type": "note", "content": "three"}, NewEvent(type="note", content="four")], session="s")
    await agent.tasks.pop("Done", session="s")
    await agent.events.record("note", "after", session="s")
    tasks = {event.text.removeprefix("note: "): event.task for event in (await agent.events.list()).events}
    assert tasks == {
        "before": None,
        "one": root.id,
        "two": leaf.id,
        "elsewhere": None,
        "three": root.id,
        "four": root.id,
        "after": None,
    }


async def test_a_named_task_or_none_is_kept(agent: Agent) -> None:
    """`task` is taken as it is given, and an empty one is no task at all."""
    await agent.tasks.push("Ship it", session="s")
    await agent.events.record("note", "named", session="s", task="t-1")
    await agent.events.record("note", "none", session="s", task="")
    assert await _tasks(agent) == ["t-1", None]


async def test_an_event_keeps_its_task_when_it_is_sent_again(agent: Agent) -> None:
    """The same id is the same event, whatever the session does now."""
    root = await agent.tasks.push("Ship it", session="s")
    await agent.events.record("note", "one", session="s", id="e")
    await agent.tasks.push("Test it", session="s")
    again = await agent.events.record("note", "one", session="s", id="e")
    assert not again.added
    assert again.event is not None
    assert again.event.task == root.id


async def test_extractors_see_the_task(agent: Agent) -> None:
    """What an extractor reads has the task, so that it tells the events of one task from others."""
    seen = list[str | None]()

    def look(event: Event, before: Sequence[Event]) -> Findings:
        seen.extend([event.task, *(one.task for one in before)])
        return Findings()

    weights = ContextWeights(recency=0.3, relevance=0.5, salience=0.2)
    own = Archetype(name="own", extractors={"look": look}, weights=weights, shares={"semantic": 100})
    root = await agent.tasks.push("Ship it", session="s")
    await agent.events.record("note", "one", session="s", archetype=own)
    await agent.events.record("note", "two", session="s", archetype=own, task="")
    assert seen == [root.id, None, root.id]


async def test_another_users_stack_says_nothing(germane: Germane) -> None:
    """The session of the same name of another user has a stack of its own."""
    one, other = (germane.agent("support", org="acme", user=user) for user in ("caroline", "melanie"))
    await one.tasks.push("Ship it", session="s")
    await other.events.record("note", "one", session="s")
    assert await _tasks(other) == [None]


async def test_events_beside_a_push_belong_to_one_of_its_sides(agent: Agent) -> None:
    """The task is read in the transaction that writes the event: beside a push it is the old or the new one."""
    root = await agent.tasks.push("Ship it", session="s")
    works = [agent.events.record("note", str(number), session="s") for number in range(4)]
    leaf, _ = await asyncio.gather(agent.tasks.push("Test it", session="s"), asyncio.gather(*works))
    assert set(await _tasks(agent)) <= {root.id, leaf.id}
