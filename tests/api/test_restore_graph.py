"""Restoring the graph: entities, relations and patterns come back with who said what of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Conflict, Germane, InvalidInput
from germane.kinds.graph.reads import PutPattern
from germane.kinds.graph.value import EntityFinding, Pattern
from germane_testing.builders import NOON, living, person, saying, writing
from support.calendar import Calendar


@pytest.fixture
async def empty(opening: Any, embedder: Any, tmp_path: Path, calendar: Calendar) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "other.db", embedder=embedder, clock=calendar.clock) as opened:
        yield opened


async def lines_of(handle: Agent | Germane) -> list[dict[str, Any]]:
    return [line async for line in handle.export()]


@pytest.fixture
async def agent(germane: Germane) -> Agent:
    """An agent with a user, of whom one event is told with what was found in it."""
    agent = germane.agent("support", org="acme", user="caroline")
    scoped = germane._open.store.within(agent.scope)
    told = [person("Caroline", "Caro", age=30), EntityFinding(type="place", name="Faro")]
    event, _ = await scoped.commit(saying("a", told, living("Caro", "Faro", exclusive=True), user="caroline"))
    await scoped.commit(saying("b", [person("Caroline", city="Faro")], position=1, user="caroline"))
    await agent.graph.add("organisation", "Acme", properties={"size": 9})
    await agent.graph.relate("Caro", "works_at", "Acme", valid_from="2024-01-01", valid_to="2025-01-01")
    made = {"created_at": NOON, "updated_at": NOON}
    pattern = Pattern(id="p1", action="restart", keywords=("boiler",), user="caroline", successes=1, applications=2, **made)  # type: ignore[arg-type]
    await scoped.commit(writing(PutPattern(pattern, (event,))))
    return agent


@pytest.mark.requirement("MEM-3", "GRAPH-2")
async def test_the_graph_comes_back_as_it_was(agent: Agent, empty: Germane) -> None:
    """The same lines are exported again; restoring twice stores nothing more."""
    lines = await lines_of(agent)
    assert lines[0]["version"] == 5
    assert {name: lines[0]["holds"][name] for name in ("entities", "relations", "patterns")} == {
        "entities": 3,
        "relations": 2,
        "patterns": 1,
    }
    restored = await empty.restore(json.dumps(line) for line in lines)
    assert (restored.entities, restored.relations, restored.patterns) == (3, 2, 1)
    there = empty.agent("support", org="acme", user="caroline")
    assert await lines_of(there) == lines
    again = await empty.restore(lines)
    assert (again.entities, again.relations, again.patterns, again.conflicts) == (0, 0, 0, [])
    assert again.known >= 6
    assert (await empty.verify()).healthy


@pytest.mark.requirement("MEM-3", "GRAPH-2")
async def test_what_was_forgotten_here_says_nothing(agent: Agent, empty: Germane) -> None:
    """An entity comes back without what a message said that was forgotten here, and what only that said doesn't."""
    lines = await lines_of(agent)
    await empty.restore(lines)
    there = empty.agent("support", org="acme", user="caroline")
    first = next(line["germane_id"] for line in lines if line["type"] == "message")
    await there.forget([first])
    await there.graph.forget([entity.id for entity in (await there.graph.list()).entities])
    await there.graph.forget([line["id"] for line in lines if line["type"] == "relation"])
    restored = await empty.restore(lines)
    assert (restored.entities, restored.patterns) == (0, 0)
    assert (await there.graph.list()).entities == ()


@pytest.mark.requirement("MEM-3", "GRAPH-2")
async def test_names_that_only_a_missing_message_says_arent_restored(agent: Agent, empty: Germane) -> None:
    """Where the export was cut by hand, or the message was forgotten here first."""
    lines = await lines_of(agent)
    gone = next(line for line in lines if line["type"] == "message")
    left = [line for line in lines if line is not gone]
    left[0]["holds"]["messages"] -= 1
    restored = await empty.restore(left)
    assert (restored.entities, restored.relations, restored.patterns) == (2, 1, 0), "Faro was in that message alone"
    there = empty.agent("support", org="acme", user="caroline")
    (caroline,) = await there.graph.find("Caroline")
    assert (caroline.aliases, caroline.properties) == ((), {"city": "Faro"})


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("entity", "name", ""),
        ("entity", "name", 7),
        ("entity", "salience", 2),
        ("entity", "properties", []),
        ("entity", "mentions", {"a": 1}),
        ("entity", "mentions", [["a"]]),
        ("entity", "mentions", [["a", {"names": ["x"] * 60}]]),
        ("entity", "stated", 3),
        ("entity", "strange", 1),
        ("entity", "salient_at", "soon"),
        ("entity", "sensitivity", "secret"),
        ("relation", "weight", -1),
        ("relation", "valid_to", 9),
        ("relation", "source", None),
        ("pattern", "successes", -1),
        ("pattern", "keywords", "boiler"),
    ],
)
async def test_a_line_that_cant_be_one_is_refused(agent: Agent, empty: Germane, kind: str, field: str, value: object) -> None:
    """With the number of the line, and nothing of it is stored."""
    lines = await lines_of(agent)
    number = next(number for number, line in enumerate(lines) if line["type"] == kind)
    lines[number][field] = value
    with pytest.raises(InvalidInput, match=f"line {number + 1}"):
        await empty.restore(lines)


async def test_a_relation_whose_entity_isnt_there_is_a_conflict(agent: Agent, empty: Germane) -> None:
    """It is told by its line."""
    lines = [line for line in await lines_of(agent) if line.get("name") != "Acme"]
    lines[0]["holds"]["entities"] -= 1
    with pytest.raises(Conflict, match="one of its entities"):
        await empty.restore(lines)
