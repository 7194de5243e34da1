"""Long conversations over the wire: the clients do what `agent.conversations` does, and a key and a scope see only their
own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from typing import Any, cast

import pytest

from germane import Agent, Germane, InvalidInput, NotFound
from germane.api.remote.handles import ClientConversations
from germane.compaction.plan import report_of
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.integrations import Importance, Summarise, TimeDecay, Truncate
from germane.kinds.conversations.handle import AgentConversations
from germane.kinds.remote_values import RemoteEarlier, RemoteOutlineLine
from germane_testing.builders import Hashed
from support.listening import Wire, calling, listening, refused
from support.long_talk import in_shape, long_talk

pytestmark = pytest.mark.requirement("RPC-2", "HIST-5")

LONG = 30.0
MODEL = "gpt-4o"
TALK = [*in_shape(long_talk(12), "openai"), {"role": "user", "content": "And what is next?"}]


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        yield germane


@pytest.fixture
async def service(germane: Germane) -> AsyncIterator[tuple[Agent, Client, Wire]]:
    given: Any = {"org": "acme", "agent": "support", "limit": LONG, "patience": LONG}
    async with listening(germane) as wire, Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme"), client, wire


async def test_a_compaction_is_that_of_the_library(service: tuple[Agent, Client, Wire]) -> None:
    """Messages, figures, summary; what left is shown and rebuilt, and its summary listed."""
    agent, client, _ = service
    for tokens in (900, 1_500):
        own = await agent.conversations.compact(TALK, session="s", model=MODEL, max_tokens=tokens)
        made = await client.conversations.compact(TALK, session="s", model=MODEL, max_tokens=tokens)
        assert (made.messages, made.system, made.provider) == (own.messages, own.system, own.provider)
        assert made.report == report_of(own)
        assert made.report.cited
        assert made.summary == (own.summary.text if own.summary else "")
        assert made.constraints == tuple(one.text for one in own.constraints)
        for handle in made.report.cited:
            kept = await agent.conversations.show(handle)
            shown = await client.conversations.show(handle, session="s")
            assert shown == RemoteEarlier(**{one.name: getattr(kept, one.name) for one in fields(kept)})
        assert await client.conversations.rebuild(made.messages, session="s") == TALK
    listed = await client.conversations.summaries("s")
    assert [(one.id, one.summary.text, one.summary.covers) for one in await agent.conversations.summaries("s")] == [
        (one.id, one.text, one.covers) for one in listed
    ]
    assert listed


async def test_each_strategy_is_that_of_the_library(service: tuple[Agent, Client, Wire]) -> None:
    """With its numbers."""
    agent, client, _ = service
    for strategy in (
        Summarise(summary_tokens=300, mask=False),
        Truncate(keep_recent=6),
        Importance(keep_recent=2, keep_important=2),
        TimeDecay(half_life=3.5, keep_outputs=1),
    ):
        given: Any = {"session": "s", "model": MODEL, "max_tokens": 1_200, "strategy": strategy, "low_water": 0.8}
        own = await agent.conversations.compact(TALK, **given)
        assert (await client.conversations.compact(TALK, **given)).messages == own.messages


async def test_other_shapes_keep_their_system_prompt(service: tuple[Agent, Client, Wire]) -> None:
    """Anthropic's messages with tools and a system prompt apart."""
    agent, client, _ = service
    talk = [*in_shape(long_talk(12), "anthropic"), {"role": "user", "content": "And what is next?"}]
    tools = [{"name": "read_file", "input_schema": {"type": "object", "properties": {}}}]
    given: Any = {"session": "s", "model": "claude-opus-4-8", "max_tokens": 900, "system": "Be kind.", "tools": tools}
    own, made = await agent.conversations.compact(talk, **given), await client.conversations.compact(talk, **given)
    assert (made.messages, made.system, made.provider) == (own.messages, "Be kind.", "anthropic")
    assert made.report == report_of(own)


async def test_a_built_request_says_what_was_done(service: tuple[Agent, Client, Wire]) -> None:
    """By the strategy that was asked for; what left is shown by its handle."""
    _, client, _ = service
    built = await client.build(
        TALK, model=MODEL, session="s", limits={"history_tokens": 900}, history=Truncate(keep_recent=4), deadline=LONG
    )
    report = built.metadata["history"]
    assert built.metadata["compression"] == "compacted"
    assert report["tokens"] <= report["max_tokens"] < report["tokens_before"]
    assert (await client.conversations.show(report["cited"][0])).handle == report["cited"][0]
    with pytest.raises(InvalidInput):
        await client.build(TALK, model=MODEL, history=cast("Any", "truncate"))


async def test_an_outline_is_that_of_the_library(service: tuple[Agent, Client, Wire]) -> None:
    """Page by page, every field."""
    agent, client, _ = service
    await agent.record(TALK, session="s")
    own = (await agent.conversations.outline("s")).lines
    first = await client.conversations.outline("s", limit=4)
    rest = await client.conversations.outline("s", cursor=first.cursor)
    crossed = [RemoteOutlineLine(**{one.name: getattr(line, one.name) for one in fields(line)}) for line in own]
    assert [*first.lines, *rest.lines] == crossed
    assert (len(first.lines), rest.cursor) == (4, None)


async def test_a_handle_is_its_owners(service: tuple[Agent, Client, Wire]) -> None:
    """Another user, agent and org sees nothing that a handle stands for, by no call; nor by naming the session."""
    _, client, _ = service
    anna = client.within(user="anna")
    made = await anna.conversations.compact(TALK, session="s", model=MODEL, max_tokens=900)
    await anna.record(TALK, session="s")
    (handle,) = made.report.cited[:1]
    assert (await anna.conversations.show(handle)).handle == handle
    for other in (client, client.within(user="bob"), anna.within(agent="sales"), anna.within(org="other")):
        for session in (None, "s"):
            with pytest.raises(NotFound):
                await other.conversations.show(handle, session=session)
        assert await other.conversations.rebuild(made.messages, session="s") == made.messages
        assert await other.conversations.summaries("s") == ()
        assert (await other.conversations.outline("s")).lines == ()


async def test_what_is_forgotten_names_what_was_kept_of_it(service: tuple[Agent, Client, Wire]) -> None:
    """A forgotten session takes its archive and its summaries along, and the receipt has their ids, as the library's."""
    agent, client, _ = service
    await client.record(TALK, session="s")
    made = await client.conversations.compact(TALK, session="s", model=MODEL, max_tokens=900)
    expected = await agent.forget(session="s", dry_run=True)
    receipt = await client.forget(session="s")
    assert tuple(receipt.compaction_ids) == expected.compaction_ids != ()
    with pytest.raises(NotFound):
        await client.conversations.show(made.report.cited[0])


@pytest.mark.requirement("RPC-5")
async def test_a_key_does_what_it_allows(germane: Germane) -> None:
    """Compaction asks for both rights; what left is read only; a key of another org is refused this one's scope."""
    async with listening(germane, keys=germane.keys) as wire:

        async def key(*rights: Any, org: str = "acme") -> Client:
            token = (await germane.keys.create(org=org, rights=list(rights))).token
            return Client(str(wire.server.address), org=org, agent="support", key=token, limit=LONG, patience=LONG)

        both, reader, writer = await key("read", "write"), await key("read"), await key("write")
        made = await both.conversations.compact(TALK, session="s", model=MODEL, max_tokens=900)
        (handle,) = made.report.cited[:1]
        assert (await reader.conversations.show(handle)).handle == handle
        for half in (reader, writer):
            with pytest.raises(Exception, match="PERMISSION_DENIED"):
                await half.conversations.compact(TALK, session="s", model=MODEL, max_tokens=900)
        with pytest.raises(Exception, match="PERMISSION_DENIED"):
            await writer.conversations.show(handle)
        for client, keeps in ((reader, False), (both, True)):
            built = await client.build(TALK, model=MODEL, session="b", limits={"history_tokens": 900}, deadline=LONG)
            assert ("show_earlier" in str(built.as_kwargs())) is keeps
        thief = await key("read", "write", org="other")
        with pytest.raises(NotFound):
            await thief.conversations.show(handle)
        with pytest.raises(Exception, match="PERMISSION_DENIED"):
            await thief.within(org="acme").conversations.show(handle)
        for client in (both, reader, writer, thief):
            await client.close()


async def test_what_cant_be_used_names_its_field(service: tuple[Agent, Client, Wire]) -> None:
    """On the wire, and from the client."""
    _, client, wire = service
    good: dict[str, Any] = {"session": "s", "model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"session": ""}, "session"),
        ({"model": ""}, "model"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"deadline": -1}, "deadline"),
        ({"deadline": 60.1}, "deadline"),
        ({"deadline": None}, "deadline"),
        ({"low_water": 1.5}, "low_water"),
        ({"low_water": "nan"}, "low_water"),
        ({"provider": "nobody"}, "provider"),
        ({"tools": {}}, "tools"),
        ({"system": 1}, "system"),
        ({"strategy": {"name": "forget"}}, "strategy must name its name: one of truncate"),
        ({"strategy": {"name": "summarise", "half_life": 2}}, "strategy has an unknown field"),
        ({"strategy": {"name": "summarise", "keep_outputs": -1}}, "keep_outputs"),
    ]
    for change, field in wrong:
        code, text = await refused(calling(wire, "conversations.compact", **good | change))
        assert (code, field in text) == ("INVALID_ARGUMENT", True), (field, text)
    local: list[Any] = [
        lambda: client.conversations.compact(cast("Any", 3), session="s", model=MODEL),
        lambda: client.conversations.compact(TALK, session="", model=MODEL),
        lambda: client.conversations.compact(TALK, session="s", model=MODEL, strategy=cast("Any", "truncate")),
        lambda: client.conversations.compact(TALK, session="s", model=MODEL, deadline=0),
        lambda: client.conversations.outline("s", limit=0),
    ]
    for call in local:
        with pytest.raises(InvalidInput):
            await call()


async def test_the_blocking_client_does_the_same(service: tuple[Agent, Client, Wire]) -> None:
    """And `memories.versions(id)` returns the versions of a memory, in both."""
    agent, client, wire = service
    memory = await agent.remember("Likes tea")

    def blocking() -> Any:
        with Blocking(str(wire.server.address), org="acme", agent="support", limit=LONG, patience=LONG) as twin:
            made = twin.conversations.compact(TALK, session="s", model=MODEL, max_tokens=900)
            return made, twin.conversations.show(made.report.cited[0]), twin.memories.versions(memory.id)

    made, shown, line = await asyncio.to_thread(blocking)
    assert replace(made) == await client.conversations.compact(TALK, session="s", model=MODEL, max_tokens=900)
    assert shown == await client.conversations.show(made.report.cited[0])
    assert [one.id for one in line] == [one.id for one in await client.memories.versions(memory.id)] == [memory.id]


def test_the_parts_have_the_librarys_methods() -> None:
    """Each with no argument that the library doesn't have."""
    for name in ("compact", "show", "rebuild", "outline", "summaries"):
        own = set(signature(getattr(AgentConversations, name)).parameters)
        assert set(signature(getattr(ClientConversations, name)).parameters) - {"scope", "self"} <= own, name
