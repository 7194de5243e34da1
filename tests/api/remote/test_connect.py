"""`Germane.connect`: the library's names, arguments, values and errors over HTTP, against the real service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from germane import Conflict, Germane, GermaneError, InvalidInput, NotFound, NotPermitted, Stale, StoreUnavailable, UnknownName
from germane.api.agent import Agent
from germane.api.operations import operations
from germane.api.remote.handles import OF_ORG
from germane.api.remote.http import RemoteAgent, RemoteGermane
from germane.errors import ConsentNeeded
from germane.service.http.routes import path_of
from germane.types.operation import operation_path
from support.http_api import serving_api
from support.listening import opened

pytestmark = pytest.mark.requirement("HTTP-1")

ASKED = [{"role": "user", "content": "When does the warehouse open?"}]


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
async def remote(germane: Germane) -> AsyncIterator[RemoteGermane]:
    async with connected(germane) as found:
        yield found


@pytest.fixture
async def agent(remote: RemoteGermane) -> RemoteAgent:
    return remote.agent("support", user="ana")


@asynccontextmanager
async def connected(germane: Germane, **given: Any) -> AsyncIterator[RemoteGermane]:
    """Serves the store and connects to it."""
    keys = germane.keys if "key" in given else None
    asked: dict[str, Any] = {"org": "acme", "limit": 10.0, **given}
    async with serving_api(germane, keys=keys) as api, Germane.connect(f"http://{api.address}", **asked) as found:
        yield found


async def test_what_one_keeps_the_other_finds(germane: Germane, agent: RemoteAgent) -> None:
    """Memories, messages and search have the library's values."""
    kept = await agent.remember("The east gate is locked at nine", tags=["gate"])
    assert kept == await germane.agent("support", org="acme", user="ana").memories.get(kept.id)
    recorded = await agent.record([{"role": "user", "content": "My name is Ana"}], session="s1")
    assert len(recorded.added) == 1
    found = await agent.search("When is the east gate locked?", 1)
    assert [one.candidate.text for one in found] == ["The east gate is locked at nine"]
    await agent.forget([kept.id])
    with pytest.raises(NotFound):
        await agent.memories.get(kept.id)


async def test_handles_have_their_methods(agent: RemoteAgent) -> None:
    """Blocks, tasks, conversations; another scope sees nothing of a user's."""
    block = await agent.blocks.create("persona", text="Friendly.")
    edited = await agent.blocks.edit("persona", {"op": "append_text", "text": "Brief."}, if_hash=block.content_hash)
    assert "Brief." in edited.text
    task = await agent.tasks.push("book a table", session="s1")
    assert await agent.tasks.peek("s1") == task
    assert await agent.within(user="ben").tasks.peek("s1") is None
    assert await agent.directive("Answer in English.") == "Answer in English." == await agent.directive()


async def test_an_agents_name_is_a_part_of_the_path(remote: RemoteGermane) -> None:
    """Whatever signs it has; and the org's agents are listed."""
    odd = remote.agent("a/b c?ü%2F", user="x&org=other", zone="Europe/Lisbon")
    await odd.remember("The gate is green")
    assert "a/b c?ü%2F" in [one.agent for one in (await remote.agents()).agents]
    assert len((await odd.memories.list()).memories) == 1


async def test_errors_are_the_librarys(germane: Germane, agent: RemoteAgent) -> None:
    """With place and advice, as the library raises them."""
    own = germane.agent("support", org="acme", user="ana")
    for one in (own, agent):
        with pytest.raises(InvalidInput) as wrong:
            await one.memories.list(limit=0)
        assert (wrong.value.path, str(wrong.value)) == ("limit", "limit must be a whole number from 1 to 1,000, not 0")
        with pytest.raises(NotFound):
            await one.memories.get("nobody")
        with pytest.raises(UnknownName):
            await one.search("Who?", strategy="none such")
    await agent.blocks.create("notes", text="one")
    with pytest.raises(Conflict):
        await agent.blocks.create("notes", text="two")
    with pytest.raises(Stale):
        await agent.blocks.edit("notes", {"op": "append_text", "text": "x"}, if_hash="0" * 64)
    await agent.blocks.create("fixed", text="one", permission="read_only")
    with pytest.raises(NotPermitted):
        await agent.blocks.edit("fixed", {"op": "append_text", "text": "x"})
    await agent.blocks.create("asked", text="one", permission="human")
    with pytest.raises(ConsentNeeded) as consent:
        await agent.blocks.edit("asked", {"op": "append_text", "text": "x"})
    assert consent.value.request
    assert consent.value.asked_of


async def test_assemble_is_the_librarys(germane: Germane, agent: RemoteAgent) -> None:
    """The same messages; the caller's own objects among them, and the report."""
    shared = agent.within(user=None)
    own = await germane.agent("support", org="acme").assemble(ASKED, model="gpt-4o", deadline=None)
    found = await shared.assemble(ASKED, model="gpt-4o")
    assert found.messages == list(own.messages)
    assert any(one is ASKED[0] for one in found.messages)
    assert found.metadata.memories_injected == 1
    assert found.metadata.request_id
    assert not found.metadata.fallback_reason
    among = await shared.assemble(ASKED, model="gpt-4o", system="Be brief.")
    assert among.system is None
    assert [one for one in among.messages if one["content"] == "Be brief."] == [{"role": "system", "content": "Be brief."}]
    apart = await shared.assemble(ASKED, model="claude-sonnet-4-5", system="Be brief.")
    assert "Be brief." in str(apart.system)


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": "hi"},
        {"messages": []},
        {"deadline": -1},
        {"deadline": 45},
        {"strategy": "none such"},
        {"max_tokens": "many"},
        {"filters": {"kinds": object()}},
    ],
)
async def test_assemble_raises_for_what_the_caller_must_correct(agent: RemoteAgent, wrong: dict[str, Any]) -> None:
    """And the breaker takes none of these for a service that hangs."""
    given: dict[str, Any] = {"messages": ASKED, "model": "gpt-4o", **wrong}
    for _ in range(6):
        with pytest.raises(InvalidInput):
            await agent.assemble(**given)
    assert (await agent.assemble(ASKED, model="gpt-4o")).metadata.fallback_reason == ""


async def test_a_key_is_of_its_org(germane: Germane) -> None:
    """Another tenant's key reads nothing, and `assemble` gives the messages back."""
    await germane.agent("support", org="other").remember("The vault code is 7")
    token = (await germane.keys.create(org="acme")).token
    async with connected(germane, key=token) as remote:
        assert len((await remote.agent("support").memories.list()).memories) == 1
        theirs = remote.agent("support", org="other")
        with pytest.raises(GermaneError, match="PERMISSION_DENIED"):
            await theirs.memories.list()
        with pytest.raises(GermaneError, match="PERMISSION_DENIED"):
            [line async for line in theirs.export()]
        answer = await theirs.assemble(ASKED, model="gpt-4o")
        assert (answer.messages, answer.metadata.fallback_reason) == (ASKED, "http_error:403")
    async with connected(germane, key="gk_none") as remote:
        with pytest.raises(GermaneError, match="UNAUTHENTICATED") as refused:
            await remote.agent("support").memories.list()
        assert "gk_none" not in f"{refused.value}{remote!r}"


async def test_an_export_is_the_librarys(germane: Germane, agent: RemoteAgent) -> None:
    """Line by line, also where it isn't read to its end."""
    await agent.remember("The east gate is locked at nine")
    lines = [line async for line in agent.export()]
    own = [line async for line in germane.agent("support", org="acme", user="ana").export()]
    assert [line["type"] for line in lines] == [line["type"] for line in own]
    assert lines[1:] == own[1:]
    async for line in agent.export():
        assert line["type"] == "header"
        break
    assert await agent.tasks.peek("s1") is None


async def test_without_a_service_the_messages_come_back(germane: Germane, caplog: pytest.LogCaptureFixture) -> None:
    """Stopped under way or never there; said once in the log."""
    async with serving_api(germane) as api:
        remote = Germane.connect(f"http://{api.address}", org="acme", limit=10.0)
        await remote.__aenter__()
        agent = remote.agent("support")
        assert (await agent.assemble(ASKED, model="gpt-4o")).metadata.memories_injected == 1
    with caplog.at_level(logging.WARNING, "germane.client"):
        for _ in range(2):
            answer = await agent.assemble(ASKED, model="gpt-4o", system="Be brief.")
            assert answer.messages == [{"role": "system", "content": "Be brief."}, *ASKED]
            assert answer.metadata.fallback_reason == "http_error:UNAVAILABLE"
    assert len(caplog.records) == 1
    with pytest.raises(StoreUnavailable):
        await agent.memories.list()
    with pytest.raises(StoreUnavailable):
        await remote.ping()
    await remote.close()
    await remote.close()
    assert (await agent.assemble(ASKED, model="gpt-4o")).metadata.fallback_reason == "client_error:closed"
    with pytest.raises(StoreUnavailable, match="closed"):
        await agent.memories.list()


async def test_a_service_without_time_gives_back_the_system_prompt_too(
    germane: Germane, agent: RemoteAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the first message for OpenAI, which has no other place for it."""

    async def fails(*args: Any, **given: Any) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(Agent, "assemble", fails)
    monkeypatch.setattr(Agent, "fallback", fails)
    answer = await agent.assemble(ASKED, model="gpt-4o", system="Be brief.")
    assert (answer.messages, answer.system) == ([{"role": "system", "content": "Be brief."}, *ASKED], None)
    assert answer.metadata.fallback_reason
    apart = await agent.assemble(ASKED, model="claude-sonnet-4-5", system="Be brief.")
    assert (apart.messages, apart.system) == (ASKED, "Be brief.")


async def test_many_calls_at_once(agent: RemoteAgent) -> None:
    """All are answered, over one pool of connections."""
    answers = await asyncio.gather(*(agent.assemble(ASKED, model="gpt-4o") for _ in range(20)))
    assert {answer.metadata.fallback_reason for answer in answers} <= {"", "shed"}
    blocks = await asyncio.gather(*(agent.blocks.create(f"b{one}", text="x") for one in range(20)))
    assert sorted(block.label for block in blocks) == sorted(f"b{one}" for one in range(20))


def test_assemble_has_the_arguments_of_the_operation() -> None:
    """In its order."""
    own = [name for name in signature(RemoteAgent.assemble).parameters if name != "self"]
    assert own == list(operations()["assemble"].parameters)


def test_each_operation_has_its_path() -> None:
    """The client's paths are the service's."""
    for one in operations().values():
        assert operation_path(one.name, "a%2Fb", of_org=one.name in OF_ORG) == path_of(one).replace("{agent}", "a%2Fb")
