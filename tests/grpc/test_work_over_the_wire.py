"""Events, documents and texts within tokens over the wire: the clients give what the library gives, and what a key allows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Conflict, Filters, Germane, InvalidInput, NotFound
from germane.api.remote.handles import ClientDocuments, ClientEvents
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.kinds.documents.handle import AgentDocuments
from germane.kinds.events.handle import AgentEvents
from germane.kinds.events.value import Event, NewEvent
from germane_testing.builders import Hashed
from support.listening import Wire, calling, listening, refused

pytestmark = pytest.mark.requirement("RPC-2")

LONG = 30.0
CANARY = "hunter2 said the canary"
TEXT = "# Keys\n\nThe key of the warehouse hangs behind the door.\n\n# Hours\n\nThe warehouse opens at seven.\n"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(
        tmp_path / "germane.db", embedder=Hashed(), archetype="coding", warm=False, freeze=False
    ) as germane:
        yield germane


@pytest.fixture
async def service(germane: Germane) -> AsyncIterator[tuple[Agent, Client, Wire]]:
    given: Any = {"org": "acme", "agent": "support", "limit": LONG, "patience": LONG}
    async with listening(germane) as wire, Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme"), client, wire


def recorded(event: Event | None) -> Event | None:
    """An event as `record` returns it: without what its session says; lists have no `raw`."""
    return None if event is None else event._replace(session_started_at=None, session_number=None, raw={})


@pytest.mark.requirement("GRAPH-1")
async def test_an_event_is_that_of_the_library(service: tuple[Agent, Client, Wire]) -> None:
    """record, record_many, list, highlights: with outcome, task, time, entities and relations that the archetype found."""
    agent, client, _ = service
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    given: Any = {"session": "s1", "outcome": "failure", "task": "t1", "id": "e1", "at": at, "metadata": {"run": 3}}
    mine = await client.events.record("shell_exec", {"command": "pytest src/app.py", "exit": 1}, **given)
    assert mine.added
    assert mine.entities
    again = await agent.events.record("shell_exec", {"command": "pytest src/app.py", "exit": 1}, **given)
    assert not again.added
    assert recorded(mine.event) == recorded(again.event)
    await agent.events.record("file_read", "src/app.py", session="s1")
    several = await client.events.record_many(
        [NewEvent(type="decision", content="Keep the lock"), {"type": "error", "content": "KeyError: x"}], session="s1"
    )
    assert [one.event is not None and one.event.type for one in several] == ["decision", "error"]
    listed, own = await client.events.list(), await agent.events.list()
    assert [*map(recorded, listed.events)] == [*map(recorded, own.events)]
    assert len(listed.events) == 4
    page = await client.events.list("s1", types=["error", "decision"], limit=1)
    rest = await client.events.list("s1", types=["error", "decision"], limit=1, cursor=page.cursor)
    assert {one.type for one in (*page.events, *rest.events)} == {"error", "decision"}
    assert [one.message_id for one in (await client.events.list(task="t1", until=at)).events] == ["e1"]
    assert await client.events.highlights(2) == await agent.events.highlights(2)
    named = await client.events.record("note_taken", "See https://example.com", session="s1", archetype="research")
    assert any(one.type == "url" for one in named.entities)


async def test_events_of_one_task_can_be_asked_for(service: tuple[Agent, Client, Wire]) -> None:
    """As `germane.Filters` and as a mapping, in an assembly, whose sources then offer nothing else."""
    agent, client, _ = service
    for task in ("t1", "t2"):
        await client.events.record("decision", f"Keep the lock in the warehouse of {task}", session="s1", task=task)
    asked: Any = {"messages": [{"role": "user", "content": "Which lock is in the warehouse?"}], "model": "gpt-4o"}
    for number, filters in enumerate(({"task": "t2"}, Filters(task="t2"))):
        given = await client.assemble(**asked, session=f"asked {number}", filters=filters)
        own = await agent.assemble(**asked, session=f"asked of the library {number}", filters=Filters(task="t2"), deadline=None)
        assert given.metadata.memories_injected == own.metadata.memories_injected == 1
        assert "of t2" in str(given.messages)
        assert "of t1" not in str(given.messages)


async def test_entities_of_an_event_cross_whole(service: tuple[Agent, Client, Wire]) -> None:
    """Every field of an entity and a relation is what the library returns for the same id."""
    agent, client, _ = service
    mine = await client.events.record(
        "message_read", "Anna Weber works at Siemens in Vienna.", session="s", archetype="support"
    )
    for one in mine.entities:
        assert one == await agent.graph.get(one.id)
    stored = {one.id: one for entity in mine.entities for one in await agent.graph.relations(entity.id)}
    assert all(one == stored[one.id] for one in mine.relations)


async def test_a_long_event_is_cut_in_a_list(service: tuple[Agent, Client, Wire]) -> None:
    """So a page of long ones fits into an answer; `passage` says how long the whole is."""
    _, client, _ = service
    await client.events.record("shell_exec", "line of a log\n" * 4_000, session="s")
    (listed,) = (await client.events.list()).events
    assert listed.passage is not None
    assert listed.passage.size > 50_000
    assert len(listed.text) < 10_000


async def test_what_cant_be_recorded_is_said(service: tuple[Agent, Client, Wire]) -> None:
    """By the client before it asks where it can, else by the service; without content in the text."""
    _, client, wire = service
    await client.events.record("decision", "one", session="s", id="e")
    with pytest.raises(Conflict) as conflict:
        await client.events.record("decision", CANARY, session="s", id="e")
    assert CANARY not in str(conflict.value)
    wrong: list[Any] = [
        [{"type": "user_message"}],
        [{"content": "x"}],
        [{"type": "x", "kind": 1}],
        ["x"],
        "xs",
        [{"type": " "}],
    ]
    for events in wrong:
        with pytest.raises(InvalidInput):
            await client.events.record_many(events, session="s")
    with pytest.raises(InvalidInput, match="session"):
        await client.events.record("decision", "x")
    with pytest.raises(InvalidInput, match="archetype"):
        await client.events.record("decision", "x", session="s", archetype="nothing")
    many = calling(wire, "events.record_many", session="s", events=[{"type": "x"}] * 20_000)
    assert (await refused(many))[0] == "INVALID_ARGUMENT"
    one = calling(wire, "events.record_many", session="s", events=[{"type": "x"}, {"type": "user_message"}])
    code, told = await refused(one)
    assert (code, told.startswith("events[1].type ")) == ("INVALID_ARGUMENT", True)


@pytest.mark.requirement("GRAPH-2")
async def test_a_document_is_that_of_the_library(service: tuple[Agent, Client, Wire]) -> None:
    """ingest of text and of bytes, get, list, forget; idempotent by content."""
    agent, client, _ = service
    dry = await client.documents.ingest(text=TEXT, source="house.md", dry_run=True)
    assert (dry.dry_run, dry.outcome) == (True, "added")
    done = await client.documents.ingest(text=TEXT, source="house.md", title="The house", media_type="text/markdown")
    assert (done.outcome, done.media_type, done.title) == ("added", "text/markdown", "The house")
    same = await client.documents.ingest(text=TEXT, source="house.md", title="The house", media_type="text/markdown")
    assert same == await agent.documents.ingest(text=TEXT, source="house.md", title="The house", media_type="text/markdown")
    assert same.outcome == "unchanged"
    page = b"<html><title>Hours</title><body><p>The office opens at nine.</p></body></html>"
    html = await client.documents.ingest(data=page, source="hours.html")
    assert html == replace(await agent.documents.ingest(data=page, source="hours.html"), outcome="added", added=1, kept=0)
    assert html.media_type == "text/html"
    assert await client.documents.get("house.md") == await agent.documents.get("house.md")
    first = await client.documents.list(limit=1)
    second = await client.documents.list(limit=1, cursor=first.cursor)
    assert first.documents + second.documents == (await agent.documents.list()).documents
    receipt = await client.documents.forget("house.md", dry_run=True)
    assert receipt == await agent.documents.forget("house.md", dry_run=True)
    gone = await client.documents.forget("house.md", by="anna", reason="old")
    assert gone.event_ids == receipt.event_ids
    assert gone.scrubbed
    with pytest.raises(NotFound):
        await client.documents.get("house.md")


async def test_a_document_that_cant_be_stored_is_refused(service: tuple[Agent, Client, Wire], tmp_path: Path) -> None:
    """Nothing is read from a disk: a path is only a name. Binary and oversized data are refused."""
    _, client, wire = service
    secret = tmp_path / "secret.txt"
    secret.write_text(CANARY)
    wrong: list[dict[str, Any]] = [
        {"source": str(secret)},
        {"source": "x", "text": "a", "data": b"a"},
        {"source": "x", "data": "a"},
        {"source": " ", "text": "a"},
        {"source": "x", "data": b"\x7fELF\x00\x00\x01" * 100},
        {"source": "x", "data": b"a" * (12 << 20)},
        {"source": "x", "text": "a", "sensitivity": "secret"},
        {"source": "x", "text": "a", "media_type": "image/png"},
    ]
    for given in wrong:
        with pytest.raises(InvalidInput):
            await client.documents.ingest(**given)
    hidden: list[dict[str, Any]] = [{"source": str(secret)}, {"path": str(secret)}]
    for nothing in hidden:
        code, said = await refused(calling(wire, "documents.ingest", **nothing))
        assert (code, CANARY in said) == ("INVALID_ARGUMENT", False)


@pytest.mark.requirement("ENGINE-9")
async def test_texts_are_those_of_the_library(service: tuple[Agent, Client, Wire]) -> None:
    """about, build_context, expand, compress, estimate_tokens."""
    agent, client, wire = service
    assert (await refused(calling(wire, "about", name="x", max_tokens=-1)))[1].startswith("max_tokens must")
    await agent.remember("Vienna", kind="fact", key="Caroline's city", valid_from="2020-01-01")
    await agent.remember("Paris", kind="fact", key="Caroline's city", valid_from="2024-01-01")
    talk = [{"role": "user", "content": "Caroline told me that the warehouse opens at seven"}]
    await agent.record(talk, session="s")
    for given in ({}, {"max_tokens": 40}, {"at": datetime(2022, 1, 1, tzinfo=UTC)}):
        mine, own = await client.about("Caroline", **given), await agent.about("Caroline", **given)
        assert (mine.text, mine.tokens, mine.left_out, mine.hints) == (own.text, own.tokens, own.left_out, own.hints)
        for name in ("current", "earlier", "mentions"):
            shown = [(one.id, one.handle, one.text, one.category, one.tokens) for one in getattr(own, name)]
            assert [(one.id, one.handle, one.text, one.category, one.tokens) for one in getattr(mine, name)] == shown
    assert (await client.about("Caroline")).current
    mine, own = await client.about(), await agent.about()
    assert (mine.name, mine.text, len(mine.mentions)) == (own.name, own.text, 1)
    weights = {"weights": {"recency": 0.5}}
    for strategy in (None, weights):
        options: Any = {"max_tokens": 200, "strategy": strategy, "additional_context": "Be exact.", "deadline": LONG}
        built, own_built = (
            await client.build_context("When does it open?", **options),
            await agent.build("When does it open?", **options),
        )
        assert (built.content, built.token_count, built.truncated) == (
            own_built.content,
            own_built.token_count,
            own_built.truncated,
        )
        assert [one.source for one in built.components] == [one.source for one in own_built.components]
        assert (built.strategy, built.fallback_reason) == (own_built.strategy.name, "")
        assert "seven" in built.content
    for id in (built.components[0].source, (await agent.messages()).messages[0].id):
        assert await client.expand(id) == await agent.expand(id)
    secret = await agent.remember("The code is 4711", sensitivity="sensitive")
    with pytest.raises(NotFound):
        await client.expand(secret.id)
    assert await client.expand(secret.id, filters={"sensitivities": ["sensitive"]}) == "The code is 4711"
    with pytest.raises(NotFound):
        await client.within(agent="other").expand((await agent.messages()).messages[0].id)
    long = "The warehouse opens at seven. " * 40 + "The key hangs behind the door."
    assert await client.compress(long, 30, query="key") == await agent.compress(long, 30, query="key")
    assert await client.estimate_tokens(long) == await agent.estimate_tokens(long)
    with pytest.raises(InvalidInput, match="language model"):
        await client.compress(long, 30, use_llm=True)
    for wrong in ({"max_tokens": -1}, {"max_tokens": 10, "strategy": "nothing"}, {"max_tokens": 10, "deadline": 90}):
        with pytest.raises(InvalidInput):
            await client.build_context("x", **wrong)


async def test_a_user_sees_nothing_of_another(service: tuple[Agent, Client, Wire]) -> None:
    """Events, documents and what is known stay within org, agent and user."""
    _, client, _ = service
    anna = client.within(user="anna")
    await anna.events.record("decision", CANARY, session="s")
    await anna.documents.ingest(text=CANARY, source="notes.md")
    for other in (client, client.within(user="bob"), client.within(org="other", user="anna"), client.within(agent="sales")):
        assert (await other.events.list()).events == ()
        assert await other.events.highlights() == ()
        assert (await other.documents.list()).documents == ()
        assert CANARY not in (await other.about("canary")).text
        assert CANARY not in (await other.build_context("canary hunter2", max_tokens=500, deadline=LONG)).content
        with pytest.raises(NotFound):
            await other.documents.forget("notes.md")
    assert len((await anna.events.list()).events) == 1


@pytest.mark.requirement("RPC-5")
async def test_a_key_does_what_it_allows(germane: Germane) -> None:
    """Another org and agent are denied; a key that may only write gets no content, one that may only read stores nothing."""
    async with listening(germane, keys=germane.keys) as wire:

        async def key(*rights: Any) -> Client:
            token = (await germane.keys.create(org="acme", agents=["support"], rights=list(rights))).token
            target = str(wire.server.address)
            return Client(target, org="acme", agent="support", key=token, limit=LONG, patience=LONG)

        writer, reader = await key("write"), await key("read")
        async with writer, reader:
            made = await writer.events.record("decision", f"{CANARY} in src/app.py", session="s", outcome="success")
            assert made.event is not None
            assert (made.event.text, made.event.outcome) == ("", "")
            assert [one.name for one in made.entities] == [""] * len(made.entities)
            await writer.documents.ingest(text=CANARY, source="d")
            denied: list[Any] = [
                writer.events.list(),
                writer.events.highlights(),
                writer.documents.list(),
                writer.about("canary"),
                writer.build_context("canary", max_tokens=100),
                writer.compress("a", 1),
                reader.events.record("decision", "x", session="s"),
                reader.documents.ingest(text="x", source="x"),
                reader.documents.forget("d"),
                reader.within(agent="sales").events.list(),
                reader.within(org="other").about("canary"),
            ]
            for call in denied:
                with pytest.raises(Exception, match="PERMISSION_DENIED"):
                    await call
            assert CANARY in (await reader.events.list()).events[0].text


async def test_the_clients_have_the_librarys_methods(service: tuple[Agent, Client, Wire]) -> None:
    """The same names and parameters, in both clients, but for what only a process beside the store can do."""
    own, client, _ = service
    pairs: list[tuple[type, type, set[str], set[str]]] = [
        (AgentEvents, ClientEvents, set(), {"whole"}),
        (AgentDocuments, ClientDocuments, {"ingest_folder"}, {"path", "progress"}),
    ]
    for library, wire, without, parameters in pairs:
        names = {name for name in dir(library) if not name.startswith("_")} - without
        assert names == {name for name in dir(wire) if not name.startswith("_")}
        for name in names:
            given = [one for one in list(signature(getattr(library, name)).parameters)[1:] if one not in parameters]
            assert given == list(signature(getattr(wire, name)).parameters)[1:], name
    target = client._connection.address.target

    def blocking() -> list[Any]:
        with Blocking(target, org="acme", agent="support", limit=LONG, patience=LONG) as twin:
            made = twin.events.record("decision", "Keep it", session="b")
            twin.documents.ingest(text=TEXT, source="house.md")
            with pytest.raises(NotFound):
                twin.documents.get("nothing")
            about = twin.about("warehouse").name
            tokens = twin.estimate_tokens("one two").tokens
            return [made.event, twin.events.list("b").events, twin.documents.list().documents, about, tokens]

    event, listed, documents, name, tokens = await asyncio.to_thread(blocking)
    assert [*map(recorded, listed)] == [recorded(event)]
    assert documents == (await own.documents.list()).documents
    assert (name, tokens) == ("warehouse", 2)
