"""The profile, the digest and the upkeep of memories over the wire: the clients give what the library gives, as keys allow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Filters, Germane, GermaneError, InvalidInput, NotFound
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane_testing.builders import Hashed
from support.listening import Wire, listening
from support.scripted_llm import ScriptedLLM, entry, listed

pytestmark = pytest.mark.requirement("RPC-2", "HTTP-1")

LONG = 30.0
AT = datetime(2099, 1, 1, tzinfo=UTC)
TALK: Any = [{"role": "user", "content": "Please always answer in German. I am allergic to walnuts.", "id": "m1"}]
QUESTION = "Which language does she want?"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    """A store with the same things of anna and of ben, and a language model that finds one memory in a message."""
    model = ScriptedLLM(always=listed(entry("Is allergic to walnuts")))
    opened = Germane.open(tmp_path / "germane.db", embedder=Hashed(), llm=model, extraction=False, warm=False, freeze=False)
    async with opened as germane:
        for user in ("anna", "ben"):
            agent = germane.agent("support", org="acme", user=user)
            await agent.record(TALK, session=f"talk of {user}")
            for text in ("Her key is sk-ant-REDACTED", "The blue vase is hers"):
                await agent.remember(text, kind="note")
            await agent.remember("Prefers German letters", kind="preference", pinned=True)
        yield germane


@pytest.fixture
async def service(germane: Germane) -> AsyncIterator[tuple[Agent, Client, Wire]]:
    given: Any = {"org": "acme", "agent": "support", "user": "anna", "limit": LONG, "patience": LONG}
    async with listening(germane) as wire, Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme", user="anna"), client, wire


@pytest.mark.requirement("PERSON-1")
async def test_a_profile_is_that_of_the_library_and_its_lines_can_be_marked(service: tuple[Agent, Client, Wire]) -> None:
    """Every field, the marks too; a line may be named by its beginning."""
    agent, client, _ = service
    mine = await client.profile(AT)
    assert mine == await agent.profile(AT)
    assert mine.lines
    assert await client.profile(AT, tokens=0) == await agent.profile(AT, tokens=0)
    line = mine.lines[-1]
    assert await client.mark_line(line.id[:-1], "hide") == line.id
    hidden = await client.profile(AT)
    assert hidden == await agent.profile(AT)
    assert {one.id: one.reason for one in hidden.left_out}[line.id] == "hidden"
    assert await client.mark_line(line.id, None) == line.id
    assert await client.profile(AT) == mine
    refused: Any = ((("0" * 36, "pin"), NotFound), ((line.id, "drop"), InvalidInput))
    for wrong, error in refused:
        with pytest.raises(error):
            await client.mark_line(*wrong)
    with pytest.raises(InvalidInput, match="tokens"):
        await client.profile(tokens=-1)


@pytest.mark.requirement("DIG-2")
async def test_a_digest_has_the_librarys_text_and_items(service: tuple[Agent, Client, Wire]) -> None:
    """Where there is a list, and where one line says why there is none."""
    agent, client, _ = service
    for given in ({}, {"max_tokens": 60}, {"filters": {"sensitivities": ["public"]}}):
        mine = await client.digest(QUESTION, at=AT, deadline=10.0, **given)
        own = await agent.digest(QUESTION, at=AT, deadline=None, **given | _filters(given))
        assert (mine.text, mine.status, mine.tokens) == (own.text, own.status, own.tokens)
        assert [(one.id, one.tokens, one.text) for one in mine.items] == [(one.id, one.tokens, one.text) for one in own.items]
    assert (await client.digest(QUESTION)).items
    for wrong in ({"strategy": "nothing"}, {"deadline": 90.0}, {"max_tokens": -1}):
        with pytest.raises(InvalidInput):
            await client.digest(QUESTION, **wrong)


def _filters(given: dict[str, Any]) -> dict[str, Any]:
    return {"filters": Filters(**given["filters"])} if "filters" in given else {}


@pytest.mark.requirement("MEM-6")
async def test_an_audit_and_a_consolidation_are_those_of_the_library(service: tuple[Agent, Client, Wire]) -> None:
    """A dry run changes nothing; the other does what it said, and only to the caller's own user."""
    agent, client, _ = service
    ben = client.within(user="ben")
    found = await client.audit(unused_days=0, limit=5)
    assert found == await agent.audit(unused_days=0, limit=5)
    assert found.memories == 3
    assert found.messages == 1
    planned = await client.consolidate(max_memories=2, dry_run=True)
    assert planned == await agent.consolidate(max_memories=2, dry_run=True)
    assert (planned.before.memories, planned.after.memories, planned.dry_run) == (3, 2, True)
    done = await client.consolidate(max_memories=2, by="anna")
    assert [one.id for one in done.evicted] == [one.id for one in planned.evicted]
    assert (done.after.memories, done.scrubbed) == (2, True)
    assert len((await agent.memories.list()).memories) == 2
    assert len((await ben.memories.list()).memories) == 3
    for wrong in ({}, {"max_memories": -1}, {"max_bytes": True}, {"max_memories": 1, "dry_run": "yes"}):
        with pytest.raises(InvalidInput):
            await client.consolidate(**wrong)
    with pytest.raises(InvalidInput, match="limit"):
        await client.audit(limit=0)


@pytest.mark.requirement("MEM-7")
async def test_a_language_model_reads_what_waits(service: tuple[Agent, Client, Wire]) -> None:
    """One session, of the caller's user; a dry run only counts."""
    agent, client, _ = service
    counted = await client.extract(session="talk of anna", dry_run=True)
    assert (counted.waiting, counted.calls) == (1, 0)
    run = await client.extract(session="talk of anna")
    assert (run.messages, run.memories, run.stopped) == (1, 1, "")
    assert any("walnuts" in one.text for one in (await agent.memories.list()).memories)
    others = (await client.within(user="ben").memories.list()).memories
    assert not any("walnuts" in one.text for one in others)
    assert (await client.extract(session="talk of ben", dry_run=True)).waiting == 0


async def test_without_a_language_model_nothing_can_be_extracted(tmp_path: Path) -> None:
    """The error says where one is configured."""
    opened = Germane.open(tmp_path / "g.db", embedder=Hashed(), warm=False, freeze=False)
    async with opened as germane, listening(germane) as wire, Client(str(wire.server.address), patience=LONG) as client:
        with pytest.raises(InvalidInput, match="no LLM is configured"):
            await client.extract()


@pytest.mark.requirement("SCOPE-3")
async def test_anothers_line_is_nobodys(service: tuple[Agent, Client, Wire]) -> None:
    """A user of the same agent and another org can't mark it, and see nothing of it."""
    _, client, _ = service
    profile = await client.profile(AT)
    strangers = [client.within(user="ben"), client.within(org="other"), client.within(agent="other")]
    for line in profile.lines:
        for other in strangers:
            for name in (line.id, line.id[:-1]):
                with pytest.raises(NotFound):
                    await other.mark_line(name, "hide")
    assert await client.profile(AT) == profile
    for empty in strangers[1:]:
        assert not (await empty.profile()).lines
        assert (await empty.audit()).memories == (await empty.consolidate(max_memories=0)).before.memories == 0
        assert (await empty.digest(QUESTION)).status == "no matching memory"
    assert {one.id for one in (await strangers[0].profile()).lines}.isdisjoint(one.id for one in profile.lines)


@pytest.mark.requirement("RPC-5")
async def test_a_key_does_what_it_allows(germane: Germane) -> None:
    """To look needs the right to read, to change the right to write; another org and agent are denied."""
    agent = germane.agent("support", org="acme", user="anna")
    (line, *_) = (await agent.profile(AT)).lines
    async with listening(germane, keys=germane.keys) as wire:

        async def client(*rights: Any, **scope: str) -> Client:
            token = (await germane.keys.create(org="acme", agents=["support"], rights=list(rights))).token
            named: Any = {"org": "acme", "agent": "support", "user": "anna"} | scope
            return Client(str(wire.server.address), key=token, limit=LONG, patience=LONG, **named)

        writer, reader = await client("write"), await client("read")
        for looks in (reader.profile(), reader.audit(), reader.digest(QUESTION)):
            assert await looks is not None
        assert await writer.mark_line(line.id, "pin") == line.id
        assert (await writer.consolidate(max_memories=100)).fits
        assert (await writer.extract(dry_run=True)).calls == 0
        both = [await client("read", "write", org="other"), await client("read", "write", agent="other")]
        refused: list[Any] = [writer.profile(), writer.audit(), writer.digest(QUESTION)]
        for one in (reader, *both):
            refused += [one.mark_line(line.id, "hide"), one.consolidate(max_memories=0), one.extract()]
        for one in both:
            refused += [one.profile(), one.audit(), one.digest(QUESTION)]
        for call in refused:
            with pytest.raises(GermaneError, match="PERMISSION_DENIED"):
                await call
        for one in (writer, reader, *both):
            await one.close()
    assert (await agent.profile(AT)).lines[0].id == line.id
    assert len((await agent.memories.list()).memories) == 3


async def test_the_blocking_client_has_the_same_calls(service: tuple[Agent, Client, Wire]) -> None:
    """With the same answers, from a thread."""
    _, client, wire = service

    def blocking() -> list[Any]:
        given: Any = {"org": "acme", "agent": "support", "user": "anna", "limit": LONG, "patience": LONG}
        with Blocking(str(wire.server.address), **given) as twin:
            return [twin.profile(AT), twin.audit(), twin.consolidate(max_memories=9, dry_run=True), twin.extract(dry_run=True)]

    answers = await asyncio.to_thread(blocking)
    dry = await client.consolidate(max_memories=9, dry_run=True), await client.extract(dry_run=True)
    assert answers == [await client.profile(AT), await client.audit(), *dry]
