"""The graph over the wire: the clients do what `agent.graph` does, and a key sees and changes only what it allows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from typing import Any, cast

import pytest

from germane import Agent, Filters, Germane, InvalidInput, NotFound
from germane.api.remote.handles import ClientGraph, ClientPatterns
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.kinds.graph.handle import AgentGraph, Patterns
from germane_testing.builders import Hashed
from support.listening import listening

pytestmark = pytest.mark.requirement("RPC-2")

LONG = 30.0
CANARY = "Hunter Canary"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        yield germane


@pytest.fixture
async def service(germane: Germane) -> AsyncIterator[tuple[Agent, Client]]:
    given: Any = {"org": "acme", "agent": "support", "limit": LONG, "patience": LONG}
    async with listening(germane) as wire, Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme"), client


@pytest.mark.requirement("GRAPH-3")
async def test_the_graph_is_that_of_the_library(service: tuple[Agent, Client]) -> None:
    """Entities, relations, traversal, path, merge, forget: every field."""
    agent, client = service
    own, graph = agent.graph, client.graph
    anna = await graph.add("person", "Anna Weber", aliases=["Annie"], properties={"age": 42, "tags": ["x"]})
    assert anna == await own.get(anna.id) == await graph.get(anna.id)
    assert await graph.find("annie", "person") == await own.find("annie", "person") == (anna,)
    firm, city = await graph.add("organisation", "Siemens"), await graph.add("place", "Vienna")
    year = datetime(2020, 1, 1, tzinfo=UTC)
    works = await graph.relate("Anna Weber", "works_at", firm.id, weight=0.5, valid_from=year, properties={"as": "engineer"})
    await graph.relate("Siemens", "in", "Vienna", confidence=1.0)
    assert (works,) == await own.relations("Anna Weber") == await graph.relations("Anna Weber")
    assert await graph.relations(anna.id, at=datetime(2019, 1, 1, tzinfo=UTC)) == ()
    near, hood = await graph.traverse("Anna Weber", depth=2), await own.traverse("Anna Weber", depth=2)
    assert near == hood
    assert near.depths == {anna.id: 0, firm.id: 1, city.id: 2}
    assert (await graph.traverse("Anna Weber", depth=0)).relations == ()
    assert await graph.salient(2) == (await own.salient(2))
    assert len(await graph.salient(2)) == 2
    assert await graph.salient(at=year) == await own.salient(at=year)
    chain = await graph.chain("Anna Weber", ["works_at", "in"])
    assert [one.type for one in chain] == ["works_at", "in"]
    assert chain == await own.chain("Anna Weber", ["works_at", "in"])
    assert await graph.chain("Vienna", ["in"], backwards=True) == await own.chain("Vienna", ["in"], backwards=True) == chain[1:]
    assert await graph.chain("Anna Weber", ["works_at", "in"], limit=1) == chain[:1]
    assert await graph.chain("Anna Weber") == ()
    refused: list[dict[str, Any]] = [{"types": "in"}, {"limit": 0}, {"backwards": 1}]
    for wrong in refused:
        with pytest.raises(InvalidInput):
            await graph.chain("Anna Weber", **wrong)
    with pytest.raises(NotFound):
        await graph.chain("Nobody")
    way = await graph.path("Vienna", "Anna Weber")
    assert way == await own.path("Vienna", "Anna Weber")
    assert way is not None
    assert [one.backwards for one in way] == [True, True]
    alone = await graph.add("person", "Bob")
    assert (await graph.path("Bob", "Anna Weber"), await graph.path("Bob", "Bob")) == (None, ())
    first = await graph.list(limit=2)
    rest = await graph.list(limit=2, cursor=first.cursor)
    assert first.entities + rest.entities == (await own.list()).entities
    assert (await graph.list("person", prefix="ann")).entities == (anna,)
    ended = await graph.unrelate(works.id, datetime(2021, 1, 1, tzinfo=UTC))
    assert ended.valid_to == datetime(2021, 1, 1, tzinfo=UTC)
    merged = await graph.merge("Anna Weber", "Bob")
    assert merged == await own.get(anna.id)
    with pytest.raises(NotFound):
        await graph.get(alone.id)
    dry = await graph.forget([city.id], dry_run=True)
    assert dry == await own.forget([city.id], dry_run=True)
    assert city.id in (await graph.forget([city.id], by="anna")).graph_ids
    assert await graph.find("Vienna") == ()


@pytest.mark.requirement("GRAPH-3")
async def test_a_list_of_entities_is_filtered_as_in_the_library(service: tuple[Agent, Client]) -> None:
    """By sensitivity, time, type and id, page by page; without filters every sensitivity is listed."""
    agent, client = service
    known = [
        await client.graph.add("person", f"Anna {number}", sensitivity="sensitive" if number % 2 else "private")
        for number in range(6)
    ]
    assert (await client.graph.list()).entities == tuple(known)
    for given in (
        Filters(),
        Filters(sensitivities=("sensitive",), exclude=frozenset({known[3].id})),
        Filters(until=datetime(2001, 1, 1, tzinfo=UTC)),
        Filters(entity_types=("place",)),
    ):
        own = (await agent.graph.list(filters=given)).entities
        first = await client.graph.list(filters=given, limit=1)
        rest = () if first.cursor is None else (await client.graph.list(filters=given, cursor=first.cursor)).entities
        assert first.entities + rest == own
    assert (await client.graph.list(filters={"sensitivities": ["sensitive"]})).entities == tuple(known[1::2])
    with pytest.raises(InvalidInput):
        await client.graph.list(filters={"sensitivity": "sensitive"})


@pytest.mark.requirement("GRAPH-3")
async def test_patterns_are_those_of_the_library(service: tuple[Agent, Client]) -> None:
    """learn, match, apply_result."""
    agent, client = service
    own, patterns = agent.graph.patterns, client.graph.patterns
    learned = await patterns.learn("Run the tests again", keywords=["flaky"], intent="fix", entity_types=["file"])
    asked: Any = {"intent": "fix", "entity_types": ["file"]}
    assert await patterns.match("a flaky test", **asked) == await own.match("a flaky test", **asked) == (learned,)
    counted = await patterns.apply_result(learned.id, True)
    assert (counted.successes, counted.applications) == (1, 1)
    assert await patterns.match("nothing of it") == ()
    with pytest.raises(NotFound):
        await patterns.apply_result("nothing", False)


async def test_what_cant_be_used_is_said(service: tuple[Agent, Client]) -> None:
    """A name that several have, numbers beyond the limits, lists that are strings."""
    _, client = service
    graph = client.graph
    await graph.add("person", CANARY)
    await graph.add("place", CANARY)
    wrong: list[Any] = [
        graph.relations(CANARY),
        graph.add("", "x"),
        graph.add("person", "x" * 10_000),
        graph.add("person", "x", properties={str(at): at for at in range(1_000)}),
        graph.add("person", "x", sensitivity=cast("Any", "secret")),
        graph.patterns.learn("x" * 1_000_000),
    ]
    for call in wrong:
        with pytest.raises(InvalidInput) as caught:
            await call
        assert CANARY not in str(caught.value)
    beyond: list[Any] = [{"depth": 11}, {"fan_out": 0}, {"limit": 5_000}]
    for given in beyond:
        with pytest.raises(InvalidInput):
            await graph.traverse("x", **given)
    with pytest.raises(InvalidInput):
        await graph.add("person", "x", aliases="ab")
    with pytest.raises(InvalidInput):
        await graph.relate("a", "b", "c", weight="2")  # type: ignore[arg-type]


async def test_a_graph_is_its_users(service: tuple[Agent, Client]) -> None:
    """Another user, agent and org finds no entity, relates to none and forgets none."""
    _, client = service
    anna = client.within(user="anna")
    made = await anna.graph.add("person", CANARY)
    learned = await anna.graph.patterns.learn(CANARY, keywords=["x"])
    for other in (client, client.within(user="bob"), anna.within(agent="sales"), anna.within(org="other")):
        assert made.id not in [one.id for one in (await other.graph.list()).entities]
        assert await other.graph.find(CANARY) == ()
        assert await other.graph.patterns.match("x") == ()
        assert len(await other.graph.forget([made.id, learned.id])) == 0
        here = (await other.graph.add("place", "Here")).id
        for call in (other.graph.get(made.id), other.graph.relate(here, "near", made.id), other.graph.traverse(made.id)):
            with pytest.raises(NotFound):
                await call
    assert await anna.graph.get(made.id) == made


@pytest.mark.requirement("RPC-5")
async def test_a_key_does_what_it_allows(germane: Germane) -> None:
    """A key that may only write gets no name, no alias and no action; one that may only read changes nothing."""
    async with listening(germane, keys=germane.keys) as wire:

        async def key(*rights: Any) -> Client:
            token = (await germane.keys.create(org="acme", agents=["support"], rights=list(rights))).token
            return Client(str(wire.server.address), org="acme", agent="support", key=token, limit=LONG, patience=LONG)

        writer, reader = await key("write"), await key("read")
        async with writer, reader:
            own = germane.agent("support", org="acme").graph
            await own.add("person", CANARY, aliases=["Secret"], properties={"code": "hunter2"})
            made = await writer.graph.add("person", CANARY)
            assert (made.type, made.name, made.aliases, made.properties) == ("", "", (), {})
            related = await writer.graph.relate(made.id, "knows", made.id, properties={"code": "hunter2"})
            assert (related.type, related.properties) == ("", {})
            learned = await writer.graph.patterns.learn(CANARY, keywords=["x"])
            assert (learned.action, learned.keywords) == ("", ())
            denied: list[Any] = [
                writer.graph.get(made.id),
                writer.graph.list(),
                writer.graph.traverse(made.id),
                writer.graph.path(made.id, made.id),
                writer.graph.salient(),
                writer.graph.chain(made.id),
                writer.graph.patterns.match("x"),
                reader.graph.add("person", "x"),
                reader.graph.merge(made.id, made.id),
                reader.graph.forget([made.id]),
                reader.graph.patterns.apply_result(learned.id, True),
                reader.within(agent="sales").graph.list(),
            ]
            for call in denied:
                with pytest.raises(Exception, match="PERMISSION_DENIED"):
                    await call
            assert (await reader.graph.get(made.id)).name == CANARY


async def test_the_clients_have_the_librarys_methods(service: tuple[Agent, Client]) -> None:
    """The same names and parameters, and the blocking twin does the same."""
    own, client = service
    pairs: list[tuple[type, type, set[str]]] = [
        (AgentGraph, ClientGraph, set()),
        (Patterns, ClientPatterns, set()),
    ]
    for library, wire, without in pairs:
        names = {name for name in dir(library) if not name.startswith("_")} - without - {"patterns"}
        assert names == {name for name in dir(wire) if not name.startswith("_")} - {"patterns"}
        for name in names:
            wanted = list(signature(getattr(library, name)).parameters)[1:]
            assert wanted == list(signature(getattr(wire, name)).parameters)[1:], name
    target = client._connection.address.target

    def blocking() -> Any:
        with Blocking(target, org="acme", agent="support", limit=LONG, patience=LONG) as twin:
            twin.graph.patterns.learn("Try again", keywords=["x"])
            twin.graph.add("person", "Anna")
            return twin.graph.list().entities

    assert await asyncio.to_thread(blocking) == (await own.graph.list()).entities
