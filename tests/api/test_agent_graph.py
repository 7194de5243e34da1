"""The graph handle: add, find, relate, walk, merge, learn and forget, with names in place of ids."""

from __future__ import annotations

from typing import Any

import pytest

from germane import Agent, Germane
from germane.errors import Conflict, InvalidInput, NotFound


async def test_an_entity_is_added_once_and_grows(agent: Agent) -> None:
    """Adding it again under any of its names adds to it; another type is another entity."""
    one = await agent.graph.add("person", "Caroline Meyer", aliases=["Caro"], properties={"age": 30})
    same = await agent.graph.add("person", "caro", properties={"city": "Faro"})
    assert (same.id, same.name, same.aliases) == (one.id, "Caroline Meyer", ("Caro",))
    assert same.properties == {"age": 30, "city": "Faro"}
    other = await agent.graph.add("file", "Caro")
    assert {found.id for found in await agent.graph.find("CARO")} == {one.id, other.id}
    assert await agent.graph.find("caro", "person") == (same,)
    assert await agent.graph.get(one.id) == same
    page = await agent.graph.list("person", prefix="caro")
    assert page.entities == (same,)
    assert await agent.graph.salient(1) in ((same,), (other,))
    with pytest.raises(NotFound):
        await agent.graph.get("absent")


async def test_an_ambiguous_name_is_an_error_with_the_candidates(agent: Agent) -> None:
    """Also where an entity with both names is added."""
    one, other = await agent.graph.add("person", "Anna"), await agent.graph.add("place", "Anna")
    with pytest.raises(InvalidInput) as raised:
        await agent.graph.relations("anna")
    assert one.id in str(raised.value)
    assert other.id in str(raised.value)
    assert await agent.graph.relations(one.id) == ()
    await agent.graph.add("person", "Anna Lind", aliases=["A"])
    await agent.graph.add("person", "Anna Berg", aliases=["B"])
    with pytest.raises(Conflict):
        await agent.graph.add("person", "A B", aliases=["A", "B"])


@pytest.mark.requirement("GRAPH-2")
async def test_relations_hold_from_and_until(agent: Agent) -> None:
    """An exclusive one ends the one before; an end that was set stays."""
    for type, name in (("person", "Mel"), ("organisation", "Acme"), ("organisation", "Initech")):
        await agent.graph.add(type, name)
    old = await agent.graph.relate("Mel", "works_at", "Acme", valid_from="2024-01-01", exclusive=True)
    new = await agent.graph.relate("Mel", "works_at", "Initech", valid_from="2025-01-01", exclusive=True)
    assert [one.id for one in await agent.graph.relations("Mel", at="2024-06-01")] == [old.id]
    assert [one.id for one in await agent.graph.relations("mel", at="2025-06-01")] == [new.id]
    ended = await agent.graph.unrelate(new.id, "2026-01-01")
    assert ended.valid_to is not None
    for bad in (new.id, old.id):
        with pytest.raises(InvalidInput):
            await agent.graph.unrelate(bad)
    assert await agent.graph.relations("Mel", at="2026-06-01") == ()
    again = await agent.graph.relate("Mel", "works_at", "Acme", valid_from="2024-03-01", valid_to="2024-04-01", weight=0.1)
    assert (again.id, again.weight) == (old.id, 1.0)


@pytest.mark.requirement("GRAPH-2")
async def test_walks_take_names(agent: Agent) -> None:
    """Traversal, path and chain."""
    for name in ("push", "error", "fix"):
        await agent.graph.add("event", name)
    first = await agent.graph.relate("push", "causes", "error")
    second = await agent.graph.relate("fix", "fixes", "error")
    assert (await agent.graph.traverse("push")).depths.keys() >= {first.source, first.target, second.source}
    path = await agent.graph.path("push", "fix")
    assert path is not None
    assert [(step.relation.id, step.backwards) for step in path] == [(first.id, False), (second.id, True)]
    assert await agent.graph.chain("push") == (first,)
    assert await agent.graph.chain("error", ["causes"], backwards=True) == (first,)


async def test_merged_and_forgotten_entities_are_gone(agent: Agent) -> None:
    """The receipt names them, and a dry run changes nothing."""
    kept, gone = await agent.graph.add("person", "Caroline"), await agent.graph.add("person", "Caro")
    merged = await agent.graph.merge("Caroline", "Caro")
    assert (merged.id, merged.aliases) == (kept.id, ("Caro",))
    with pytest.raises(NotFound):
        await agent.graph.get(gone.id)
    receipt = await agent.graph.forget([kept.id], dry_run=True)
    assert receipt.graph_ids == (kept.id,)
    assert (await agent.graph.get(kept.id)).name == "Caroline"
    receipt = await agent.forget([kept.id])
    assert receipt.graph_ids == (kept.id,)
    assert receipt.scrubbed
    assert "entities" in receipt.checked
    assert await agent.graph.find("Caro") == ()


@pytest.mark.requirement("GRAPH-3")
async def test_patterns_are_learned_once_and_counted(agent: Agent) -> None:
    """Words of the query match keywords whatever their case."""
    made = await agent.graph.patterns.learn("Pin the version", keywords=["SSL"], intent="fix")
    assert await agent.graph.patterns.learn("Pin the version", keywords=["ssl"], intent="fix") == made
    assert await agent.graph.patterns.match("An SSL error again", intent="fix") == (made,)
    assert await agent.graph.patterns.match("An SSL error again") == ()
    counted = await agent.graph.patterns.apply_result(made.id, True)
    assert (counted.success_rate, counted.applications) == (2 / 3, 1)
    with pytest.raises(NotFound):
        await agent.graph.patterns.apply_result("absent", True)


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("add", {"type": "", "name": "x"}),
        ("add", {"type": "t" * 65, "name": "x"}),
        ("add", {"type": "t", "name": " "}),
        ("add", {"type": "t", "name": "n" * 257}),
        ("add", {"type": "t", "name": "\u0301"}),
        ("add", {"type": "t", "name": "x", "aliases": ["a"] * 51}),
        ("add", {"type": "t", "name": "x", "aliases": "abc"}),
        ("add", {"type": "t", "name": "x", "properties": {str(n): n for n in range(101)}}),
        ("add", {"type": "t", "name": "x", "properties": {"a": float("nan")}}),
        ("add", {"type": "t", "name": "x", "properties": []}),
        ("add", {"type": "t", "name": "x", "sensitivity": "secret"}),
        ("list", {"limit": 1001}),
        ("list", {"cursor": "x"}),
        ("find", {"name": "x" * 257}),
        ("relate", {"source": "Mel", "type": "a", "target": "Mel", "weight": 2}),
        ("relate", {"source": "Mel", "type": "a", "target": "Mel", "valid_from": "2025-01-01", "valid_to": "2024-01-01"}),
        ("relate", {"source": "Mel", "type": "a", "target": "Mel", "exclusive": 1}),
        ("traverse", {"start": "Mel", "depth": 11}),
        ("traverse", {"start": "Mel", "fan_out": 0}),
        ("traverse", {"start": "Mel", "at": "never"}),
        ("chain", {"start": "Mel", "types": "causes"}),
        ("forget", {"ids": [1]}),
    ],
)
async def test_what_is_beyond_the_limits_is_refused(agent: Agent, call: str, given: dict[str, Any]) -> None:
    """With an error of ours, before anything is stored."""
    mel = await agent.graph.add("person", "Mel")
    with pytest.raises(InvalidInput):
        await getattr(agent.graph, call)(**given)
    assert (await agent.graph.list()).entities == (mel,)
    assert await agent.graph.relations("Mel") == ()


async def test_an_agents_entity_is_not_changed_by_a_user(germane: Germane) -> None:
    """What is agent-wide is read by users and changed without one; the error says so."""
    await germane.agent("shared").graph.add("person", "Mel")
    user = germane.agent("shared", user="caroline")
    assert (await user.graph.find("Mel"))[0].user is None
    with pytest.raises(NotFound, match="without a user"):
        await user.graph.relate("Mel", "knows", "Mel")
    assert (await user.graph.add("person", "Mel")).user == "caroline"
