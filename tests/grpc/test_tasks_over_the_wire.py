"""Task stacks over the wire: the clients do what `agent.tasks` does, and a key sees and changes only what it allows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from inspect import signature
from pathlib import Path
from typing import Any, cast

import pytest

from germane import Agent, Conflict, Germane, InvalidInput, NotFound
from germane.api.remote.handles import ClientTasks
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.grpc.messages import context_pb2
from germane.kinds.tasks.handle import AgentTasks
from germane.kinds.tasks.value import TaskArtifact
from germane_testing.builders import Hashed
from support.listening import asked, calling, listening, refused

pytestmark = pytest.mark.requirement("RPC-2")

LONG = 30.0
CANARY = "hunter2 said the canary"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        yield germane


@pytest.fixture
async def service(germane: Germane) -> AsyncIterator[tuple[Agent, Client]]:
    given: Any = {"org": "acme", "agent": "support", "limit": LONG, "patience": LONG}
    async with listening(germane) as wire, Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme"), client


@pytest.mark.requirement("TASK-1")
async def test_a_stack_is_that_of_the_library(service: tuple[Agent, Client]) -> None:
    """push, pop, fail, block, resume, peek, path, get, list: every field."""
    agent, client = service
    own, tasks = agent.tasks, client.tasks
    assert (await tasks.peek("s"), await tasks.path("s")) == (None, ())
    root = await tasks.push("Ship it", session="s", sensitivity="public")
    below = await tasks.push("Fix the test", session="s")
    assert (root.depth, below.parent) == (0, root.id)
    assert await tasks.path("s") == await own.path("s")
    assert await tasks.peek("s") == await own.peek("s") == below
    blocked = await tasks.block("Waits for Anna", session="s")
    assert (blocked.status, (await tasks.peek("s") or blocked).id) == ("blocked", root.id)
    assert (await tasks.resume(below.id, session="s")).status == "active"
    memory = await agent.remember("The log")
    done = await tasks.pop("Fixed", session="s", artifacts=[memory.id, (root.id, "above"), TaskArtifact(id=below.id)])
    assert done == await own.get(below.id) == await tasks.get(below.id)
    assert [one.title for one in done.artifacts] == ["", "above", ""]
    assert (await tasks.fail("No luck", session="s")).status == "failed"
    assert await tasks.list("s", status="failed") == await own.list("s", status="failed")
    assert await tasks.list(limit=1) == await own.list(limit=1)


@pytest.mark.requirement("TASK-3")
async def test_branches_are_those_of_the_library(service: tuple[Agent, Client]) -> None:
    """checkpoint, branch, switch, inject, abandon, branches."""
    agent, client = service
    own, tasks = agent.tasks, client.tasks
    root = await tasks.push("Ship it", session="s")
    place = await tasks.checkpoint("start", session="s")
    assert (place.frame, place.branch) == (root.id, "main")
    first = await tasks.branch("try", "Try another way", session="s", checkpoint="start")
    assert (first.branch, first.goal) == ("try", "Try another way")
    with pytest.raises(Conflict):
        await tasks.branch("try", session="s")
    assert (await tasks.branch("again", session="s")).goal == "Try another way"
    assert (await tasks.abandon("again", session="s")).state == "abandoned"
    assert (await tasks.switch("main", session="s")).name == "main"
    brought = await tasks.inject("try", "It works", session="s", artifacts=[first.id])
    assert (brought.branch, brought.result, brought.status) == ("main", "It works", "complete")
    assert await tasks.branches("s") == await own.branches("s")
    assert [one.state for one in await tasks.branches("s")] == ["open", "merged", "abandoned"]


async def test_what_cant_be_done_is_said(service: tuple[Agent, Client]) -> None:
    """Without content in the text."""
    _, client = service
    tasks = client.tasks
    await tasks.push(CANARY, session="s")
    await tasks.push("below", session="s")
    await tasks.block("waits", session="s")
    with pytest.raises(InvalidInput) as caught:
        await tasks.pop(CANARY, session="s")
    assert CANARY not in str(caught.value)
    wrong: list[Any] = [
        tasks.push("x"),
        tasks.push(" ", session="s"),
        tasks.push("x" * 100_000, session="s"),
        tasks.push("x", session="s", sensitivity="secret"),
        tasks.pop("x", session="s", status="done"),
        tasks.pop("x", session="s", artifacts=cast("Any", [3])),
        tasks.list(status="gone"),
        tasks.list(limit=0),
    ]
    for call in wrong:
        with pytest.raises(InvalidInput):
            await call
    for missing in (tasks.get("nothing"), tasks.switch("nothing", session="s"), tasks.resume("nothing", session="s")):
        with pytest.raises(NotFound):
            await missing


async def test_a_stack_is_its_users(service: tuple[Agent, Client]) -> None:
    """Another user, agent and org sees no task and ends none."""
    _, client = service
    made = await client.within(user="anna").tasks.push(CANARY, session="s")
    anna = client.within(user="anna")
    for other in (client, client.within(user="bob"), anna.within(agent="sales"), anna.within(org="other")):
        assert await other.tasks.list() == ()
        assert await other.tasks.path("s") == ()
        with pytest.raises(NotFound):
            await other.tasks.get(made.id)
        with pytest.raises((InvalidInput, NotFound)):
            await other.tasks.resume(made.id, session="s")
        with pytest.raises((InvalidInput, NotFound)):
            await other.tasks.pop("mine", session="s")
    assert (await client.within(user="anna").tasks.get(made.id)).status == "active"


@pytest.mark.requirement("RPC-5")
async def test_a_key_does_what_it_allows(germane: Germane) -> None:
    """A key that may only write gets no goal and no result; one that may only read changes nothing."""
    async with listening(germane, keys=germane.keys) as wire:

        async def key(*rights: Any) -> Client:
            token = (await germane.keys.create(org="acme", agents=["support"], rights=list(rights))).token
            return Client(str(wire.server.address), org="acme", agent="support", key=token, limit=LONG, patience=LONG)

        writer, reader = await key("write"), await key("read")
        async with writer, reader:
            made = await writer.tasks.push(CANARY, session="s")
            assert made.goal == ""
            ended = await writer.tasks.pop(CANARY, session="s", artifacts=[(made.id, CANARY)])
            assert (ended.goal, ended.result, ended.artifacts) == ("", None, ())
            denied: list[Any] = [
                writer.tasks.path("s"),
                writer.tasks.list(),
                writer.tasks.get(made.id),
                writer.tasks.branches("s"),
                writer.delegations.list("s"),
                reader.delegate("x", model="gpt-4o", session="s"),
                reader.tasks.push("x", session="s"),
                reader.tasks.switch("main", session="s"),
                reader.within(agent="sales").tasks.list(),
            ]
            for call in denied:
                with pytest.raises(Exception, match="PERMISSION_DENIED"):
                    await call
            with pytest.raises(Exception, match="PERMISSION_DENIED"):
                await writer.delegate("x", model="gpt-4o", session="s")
            assert (await reader.tasks.get(made.id)).result == CANARY
        many: Any = {"session": "s", "result": "x", "artifacts": ["a"] * 20_000}
        token = (await germane.keys.create(org="acme")).token
        assert (await refused(calling(wire, "tasks.pop", metadata=[("x-api-key", token)], **many)))[0] == "INVALID_ARGUMENT"


@pytest.mark.requirement("TASK-4")
async def test_a_delegation_is_that_of_the_library(service: tuple[Agent, Client]) -> None:
    """Three modes; the result comes back, and what was found is what the parent may see."""
    _, client = service
    anna = client.within(user="anna")
    await client.remember("The warehouse key hangs behind the door")
    await anna.remember(CANARY, sensitivity="sensitive")
    await anna.tasks.push("Open the warehouse", session="s")
    brief = await anna.delegate("Find the warehouse key", model="gpt-4o", session="s", max_tokens=500)
    assert brief.frame.delegated == "brief"
    assert "behind the door" in str(brief.messages)
    assert CANARY not in str(brief.messages)
    assert 0 < brief.tokens <= 500
    assert brief.explanation
    alone = await anna.delegate("Find it", "isolated", model="gpt-4o", session="s", agent_wide=True)
    assert (alone.frame.delegated, alone.tokens) == ("isolated", 0)
    said: list[Any] = [{"role": "user", "content": "Open it"}]
    fork = await anna.delegate("Find it", "fork", model="gpt-4o", session="s", messages=said)
    assert fork.messages[0] == said[0]
    assert len(await anna.delegations.list("s", open=True)) == 3
    done = await anna.delegations.finish(brief.frame.id, "Behind the door", artifacts=[brief.frame.id])
    assert (done.status, done.result) == ("complete", "Behind the door")
    assert done == await anna.tasks.get(brief.frame.id)
    assert (await anna.delegations.finish(alone.frame.id, "Lost", status="failed")).status == "failed"
    wrong: list[Any] = [
        anna.delegate("x", "fork", model="gpt-4o", session="s"),
        anna.delegate("x", "other", model="gpt-4o", session="s"),
        anna.delegations.finish(brief.frame.id, "again"),
    ]
    for call in wrong:
        with pytest.raises(InvalidInput):
            await call
    for other in (client.within(user="bob"), anna.within(agent="sales"), anna.within(org="other")):
        assert await other.delegations.list("s") == ()
        with pytest.raises(NotFound):
            await other.delegations.finish(fork.frame.id, "mine")


@pytest.mark.requirement("TASK-1", "RPC-1")
@pytest.mark.parametrize(
    ("place", "held"),
    [
        ("none", {"canary", "yellow"}),
        ("true", {"canary", "yellow"}),
        ("root", {"canary"}),
        ("without", set()),
        ("nowhere", set()),
    ],
)
async def test_a_request_names_its_task_as_in_the_library(service: tuple[Agent, Client], place: str, held: set[str]) -> None:
    """The current one, another one, none of the stack, and one that there isn't."""
    agent, client = service
    root = await agent.tasks.push("Ship the canary release", session="s")
    await agent.tasks.push("Fix the yellow test", session="s")
    task = {"none": None, "true": True, "root": root.id, "without": False, "nowhere": "nowhere"}[place]
    question = [{"role": "user", "content": "What is left to do?"}]
    answer = await client.assemble(question, model="gpt-4o", session="s", task=task)
    assert {word for word in ("canary", "yellow") if word in str(answer.messages)} == held
    assert answer.metadata.degradation_level == 0
    assert [warning for warning in answer.metadata.warnings if "nowhere" in warning] or place != "nowhere"


@pytest.mark.requirement("RPC-1")
async def test_a_task_and_no_task_at_once_are_refused(germane: Germane) -> None:
    async with listening(germane) as wire:
        options = context_pb2.AssembleOptions(task_id="t", without_tasks=True)
        status, details = await refused(wire.assembly.AssembleContext(asked(session_id="s", options=options)))
    assert status == "INVALID_ARGUMENT"
    assert "options.task_id names a task and options.without_tasks leaves all out" in details


async def test_the_clients_have_the_librarys_methods(service: tuple[Agent, Client]) -> None:
    """The same names and parameters, and the blocking twin does the same."""
    own, client = service
    names = {name for name in dir(AgentTasks) if not name.startswith("_")} - {"expand"}
    assert names == {name for name in dir(ClientTasks) if not name.startswith("_")}
    for name in names:
        library, wire = (list(signature(getattr(kind, name)).parameters)[1:] for kind in (AgentTasks, ClientTasks))
        assert wire == library, name
    target = client._connection.address.target

    def blocking() -> list[Any]:
        with Blocking(target, org="acme", agent="support", limit=LONG, patience=LONG) as twin:
            twin.tasks.push("Ship it", session="b")
            with pytest.raises(NotFound):
                twin.tasks.get("nothing")
            return [twin.tasks.peek("b"), twin.tasks.branches("b")]

    current, branches = await asyncio.to_thread(blocking)
    assert (current, branches) == (await own.tasks.peek("b"), await own.tasks.branches("b"))
