"""Pages of what one scope sees, of its own and of the agent's: small pages one after another are one large page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Germane
from germane.stores.sql.events import reader as event_listing
from germane_testing.builders import NOON

pytestmark = pytest.mark.requirement("SCOPE-2", "OPS-3")

TYPES = ("shell_exec", "test")
Page = Callable[..., Awaitable[Any]]


async def filled(germane: Germane) -> Agent:
    """Messages and other events of five sessions take turns, for all users and for one; and a few of everything else."""
    wide, mine = germane.agent("coder"), germane.agent("coder", user="ann")
    for turn in range(12):
        agent, session, at = (wide, mine)[turn % 2], f"s{turn % 5}", NOON + timedelta(minutes=turn // 2)
        said = {"role": "user", "content": f"message {turn}", "created_at": at.isoformat()}
        await agent.record([said], session=session if turn != 7 else "talk alone")
        for kind in TYPES[: 1 + turn % 2]:
            await agent.events.record(kind, f"{kind} {turn}", session=session, at=at, task="t1" if turn in (3, 8) else "")
        await agent.remember(f"Memory {turn}", valid_from=NOON)
        await agent.graph.add(("person", "place")[turn % 3 == 0], f"Name {turn * 7 % 12:02}")
        await agent.documents.ingest(text=f"# Document {turn}", source=f"/{turn}.md")
        await agent.tasks.push(f"goal {turn}", session=session)
    return mine


async def all_pages(page: Page, what: str) -> list[str]:
    """The ids, in pages of two."""
    found, cursor = list[str](), None
    while True:
        answer = await page(limit=2, cursor=cursor)
        found += [thing.source if what == "documents" else thing.id for thing in getattr(answer, what)]
        cursor = answer.cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("few", [0, 256])
async def test_pages_of_events_hold_each_once_and_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Of all sessions or of one, narrowed by type or by task; sessions without any are left out and change nothing."""
    monkeypatch.setattr(event_listing, "_MAX_SORTED", few)
    async with Germane.open(tmp_path / "g.db", freeze=False, warm=False) as germane:
        agent = await filled(germane)
        every = (await agent.events.list(limit=1000)).events
        assert len(every) == 18
        assert [event.created_at for event in every] == sorted((event.created_at for event in every), reverse=True)
        narrowed: list[tuple[dict[str, Any], Callable[[Any], bool]]] = [
            ({}, lambda event: True),
            ({"types": ["test"]}, lambda event: event.type == "test"),
            ({"types": list(TYPES)}, lambda event: True),
            ({"types": ["search"]}, lambda event: False),
            ({"task": "t1"}, lambda event: event.task == "t1"),
            ({"task": "t1", "types": ["test"]}, lambda event: event.task == "t1" and event.type == "test"),
            ({"task": "t2"}, lambda event: False),
            ({"session": "s2", "types": ["test"]}, lambda event: event.session == "s2" and event.type == "test"),
        ]
        for options, passes in narrowed:
            given = await all_pages(lambda options=options, **more: agent.events.list(**options, **more), "events")
            assert given == [event.id for event in every if passes(event)], options
        said = (await agent.messages(limit=1000)).messages
        assert [event.text for event in said if event.text == "message 7"] == ["message 7"]
        assert len(said) == 12
        assert await all_pages(agent.messages, "messages") == [event.id for event in said]


async def test_pages_of_all_else_hold_each_once_and_in_order(tmp_path: Path) -> None:
    """What is the agent's and what is the user's come in one order."""
    async with Germane.open(tmp_path / "g.db", freeze=False, warm=False) as germane:
        agent = await filled(germane)
        memories = (await agent.memories.list(limit=1000)).memories
        assert [memory.created_at for memory in memories] == sorted((one.created_at for one in memories), reverse=True)
        assert {memory.user for memory in memories} == {None, "ann"}
        assert await all_pages(agent.memories.list, "memories") == [memory.id for memory in memories]
        entities = (await agent.graph.list(limit=1000)).entities
        assert [entity.name for entity in entities] == sorted(entity.name for entity in entities)
        assert {f"Name {turn:02}" for turn in range(12)} <= {entity.name for entity in entities}
        assert await all_pages(agent.graph.list, "entities") == [entity.id for entity in entities]
        places = await all_pages(lambda **more: agent.graph.list("place", **more), "entities")
        assert places == [entity.id for entity in entities if entity.type == "place"]
        documents = (await agent.documents.list(limit=1000)).documents
        assert [document.source for document in documents] == [f"/{turn}.md" for turn in reversed(range(12))]
        assert await all_pages(agent.documents.list, "documents") == [document.source for document in documents]
        tasks = await agent.tasks.list(limit=1000)
        assert len(tasks) == 6
        assert await agent.tasks.list(limit=4) == tasks[:4]
