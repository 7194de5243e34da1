"""The task stack in use: pushing, popping, blocking, branches, several writers, limits, and whose tasks they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from germane import Agent, Germane
from germane.errors import Conflict, InvalidInput, NotFound
from germane.kinds.tasks.plans import current_task
from germane.kinds.tasks.reads import HeadOf
from germane.kinds.tasks.value import MAX_DEPTH, MAX_OPEN, StackHead, TaskBranch
from germane.types.plan import Decision, Plan, replay

S = "work"


@pytest.fixture
async def germane() -> AsyncIterator[Germane]:
    async with Germane.open(":memory:", warm=False) as opened:
        yield opened


@pytest.fixture
def agent(germane: Germane) -> Agent:
    return germane.agent("coder", user="ada")


async def goals(agent: Agent, session: str = S) -> list[str]:
    return [frame.goal for frame in await agent.tasks.path(session)]


@pytest.mark.requirement("TASK-1")
async def test_a_push_goes_below_the_current_task_and_a_pop_back_up(agent: Agent) -> None:
    """Each frame knows its parent, its children and its depth; the result stays with the frame that ended."""
    root = await agent.tasks.push("Ship 2.0", session=S)
    fix = await agent.tasks.push("Fix the build", session=S)
    assert await goals(agent) == ["Ship 2.0", "Fix the build"]
    assert (fix.parent, fix.depth, (await agent.tasks.get(root.id)).children) == (root.id, 1, (fix.id,))
    ended = await agent.tasks.pop("The clock is frozen in the tests", session=S)
    assert (ended.id, ended.status, ended.result) == (fix.id, "complete", "The clock is frozen in the tests")
    assert ended.closed_at is not None
    current = await agent.tasks.peek(S)
    assert current is not None
    assert current.id == root.id
    failed = await agent.tasks.fail("The customer withdrew", session=S)
    assert failed.status == "failed"
    assert await agent.tasks.path(S) == ()
    assert await agent.tasks.peek(S) is None


@pytest.mark.requirement("TASK-1")
async def test_a_pop_with_open_children_names_them_and_changes_nothing(agent: Agent) -> None:
    """The seed popped a frame whose children went on."""
    root = await agent.tasks.push("root", session=S)
    child = await agent.tasks.push("child", session=S)
    await agent.tasks.block("waits for the key", session=S)
    with pytest.raises(InvalidInput, match=child.id) as error:
        await agent.tasks.pop("done", session=S)
    assert "child" not in str(error.value).replace("children", "")
    assert (await agent.tasks.get(root.id)).status == "active"


@pytest.mark.requirement("TASK-1")
async def test_a_blocked_task_waits_and_is_resumed(agent: Agent) -> None:
    """Work goes on at the task above; without an id the only blocked task below is meant."""
    await agent.tasks.push("root", session=S)
    child = await agent.tasks.push("deploy", session=S)
    blocked = await agent.tasks.block("waits for the key", session=S)
    assert (blocked.id, blocked.status, blocked.result) == (child.id, "blocked", "waits for the key")
    assert await goals(agent) == ["root"]
    other = await agent.tasks.push("write the notes", session=S)
    await agent.tasks.pop("written", session=S)
    resumed = await agent.tasks.resume(session=S)
    assert (resumed.id, resumed.status, resumed.result) == (child.id, "active", None)
    assert await goals(agent) == ["root", "deploy"]
    with pytest.raises(InvalidInput, match="ended"):
        await agent.tasks.resume(other.id, session=S)
    await agent.tasks.push("root", session="another")
    with pytest.raises(NotFound):
        await agent.tasks.resume(child.id, session="another")


@pytest.mark.requirement("TASK-1")
@pytest.mark.parametrize("result", ["", "   ", None])
async def test_a_task_without_a_result_cannot_be_popped(agent: Agent, result: str | None) -> None:
    """Later tasks see nothing else of it: the seed's results could be missing."""
    await agent.tasks.push("root", session=S)
    with pytest.raises(InvalidInput, match="result"):
        await agent.tasks.pop(result, session=S)  # type: ignore[arg-type]
    assert await goals(agent) == ["root"]


async def test_an_empty_stack_says_what_to_do(agent: Agent) -> None:
    for call in (agent.tasks.pop("x", session=S), agent.tasks.block("x", session=S), agent.tasks.resume(session=S)):
        with pytest.raises(InvalidInput, match="push one first"):
            await call
    with pytest.raises(InvalidInput, match="session is missing"):
        await agent.tasks.push("goal")
    for goal in ("", "  ", "x" * 4001, "\ud800", 7):
        with pytest.raises(InvalidInput, match="goal"):
            await agent.tasks.push(goal, session=S)  # type: ignore[arg-type]


@pytest.mark.requirement("TASK-1")
async def test_depth_and_open_tasks_are_bounded(agent: Agent) -> None:
    """Both errors say what to do."""
    for level in range(MAX_DEPTH):
        await agent.tasks.push(f"level {level}", session=S)
    with pytest.raises(InvalidInput, match="pop a task first"):
        await agent.tasks.push("too deep", session=S)
    await agent.tasks.push("root", session="wide")
    for number in range(MAX_OPEN - 1):
        await agent.tasks.push(f"task {number}", session="wide")
        await agent.tasks.block("later", session="wide")
    with pytest.raises(InvalidInput, match="open"):
        await agent.tasks.push("one too many", session="wide")


@pytest.mark.requirement("TASK-1")
async def test_several_writers_share_one_stack(agent: Agent) -> None:
    """Each plan reads the stack in the transaction that writes it: no push is lost, and none stands beside another."""
    await asyncio.gather(*(agent.tasks.push(f"goal {number}", session=S) for number in range(20)))
    path = await agent.tasks.path(S)
    assert [frame.depth for frame in path] == list(range(20))
    ended = await asyncio.gather(*(agent.tasks.pop("done", session=S) for _ in range(20)))
    assert {frame.id for frame in ended} == {frame.id for frame in path}


async def test_a_plan_finds_the_task_that_its_session_stands_at() -> None:
    """For what is recorded without naming one."""

    def plan() -> Plan[str | None]:
        return Decision((), (yield from current_task(S)))

    branch = TaskBranch(session=S, name="main", current="t1", forked_at=datetime(2026, 3, 2, tzinfo=UTC))
    assert replay(plan(), {HeadOf: StackHead(branch=branch)}).outcome == "t1"
    assert replay(plan(), {HeadOf: None}).outcome is None


@pytest.mark.requirement("TASK-1", "SCOPE-2")
async def test_no_other_user_agent_or_org_reaches_a_task(germane: Germane, agent: Agent) -> None:
    """Not by listing, not by id, not by expanding, not through a session of the same name."""
    frame = await agent.tasks.push("secret plan", session=S)
    strangers = (germane.agent("coder", user="eve"), germane.agent("coder"), germane.agent("other", user="ada"))
    for stranger in (*strangers, germane.agent("coder", org="elsewhere", user="ada")):
        own = await stranger.tasks.push("own", session="own")
        assert [one.id for one in await stranger.tasks.list()] == [own.id]
        assert await stranger.tasks.path(S) == ()
        for call in (stranger.tasks.get(frame.id), stranger.tasks.expand(frame.id)):
            with pytest.raises(NotFound):
                await call
        with pytest.raises(InvalidInput):
            await stranger.tasks.pop("mine now", session=S)
        assert len(await stranger.forget([frame.id])) == 0
    assert (await agent.tasks.get(frame.id)).status == "active"


async def test_secrets_in_goals_and_results_are_redacted(agent: Agent) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    frame = await agent.tasks.push(f"Use {key} to deploy", session=S)
    assert key not in frame.goal
    assert sum(frame.secrets.values()) == 1
    ended = await agent.tasks.pop(f"The key was {key}", session=S)
    assert key not in (ended.result or "")


@pytest.mark.requirement("TASK-3")
async def test_a_branch_leaves_the_main_line_and_its_result_comes_back(agent: Agent) -> None:
    """Its own tasks aren't seen from outside; injected, its result is a completed task with a pointer to the branch's own."""
    await agent.tasks.push("root", session=S)
    base = await agent.tasks.push("make it fast", session=S)
    own = await agent.tasks.branch("cache", "try a cache", session=S)
    assert await goals(agent) == ["root", "make it fast", "try a cache"]
    await agent.tasks.push("measure", session=S)
    with pytest.raises(InvalidInput, match="switch"):
        await agent.tasks.inject("cache", "x", session=S)
    await agent.tasks.switch("main", session=S)
    assert await goals(agent) == ["root", "make it fast"]
    with pytest.raises(InvalidInput, match=own.id):
        await agent.tasks.pop("done", session=S)
    with pytest.raises(InvalidInput, match="below it that are open"):
        await agent.tasks.inject("cache", "twice as fast", session=S)
    await agent.tasks.switch("cache", session=S)
    await agent.tasks.pop("0.4 s", session=S)
    await agent.tasks.pop("a cache makes it twice as fast", session=S)
    with pytest.raises(InvalidInput, match="of its own left"):
        await agent.tasks.pop("base too", session=S)
    await agent.tasks.switch("main", session=S)
    brought = await agent.tasks.inject("cache", session=S)
    assert (brought.parent, brought.status, brought.result) == (base.id, "complete", "a cache makes it twice as fast")
    assert brought.provenance.refs == (own.id,)
    assert (await agent.tasks.expand(brought.artifacts[0].id)).id == own.id
    with pytest.raises(InvalidInput, match="merged"):
        await agent.tasks.switch("cache", session=S)
    await agent.tasks.pop("done", session=S)


@pytest.mark.requirement("TASK-3")
async def test_branches_of_branches_and_checkpoints(agent: Agent) -> None:
    """A branch begins at a checkpoint, though the stack has moved on; one can leave from another; abandoning goes back up."""
    await agent.tasks.push("root", session=S)
    await agent.tasks.checkpoint("start", session=S)
    await agent.tasks.push("first idea", session=S)
    await agent.tasks.branch("a", "second idea", session=S, checkpoint="start")
    assert await goals(agent) == ["root", "second idea"]
    await agent.tasks.branch("b", session=S)
    assert await goals(agent) == ["root", "second idea", "second idea"]
    with pytest.raises(Conflict):
        await agent.tasks.branch("a", session=S)
    with pytest.raises(NotFound):
        await agent.tasks.branch("c", session=S, checkpoint="never")
    await agent.tasks.abandon("b", session=S)
    assert await goals(agent) == ["root", "second idea"]
    assert (await agent.tasks.abandon("b", session=S)).state == "abandoned"
    await agent.tasks.abandon("a", session=S)
    assert await goals(agent) == ["root", "first idea"]
    with pytest.raises(InvalidInput, match="can't be abandoned"):
        await agent.tasks.abandon("main", session=S)
    assert [(one.name, one.state) for one in await agent.tasks.branches(S)] == [
        ("main", "open"),
        ("a", "abandoned"),
        ("b", "abandoned"),
    ]
    await agent.tasks.pop("first", session=S)
    await agent.tasks.pop("all", session=S)


@pytest.mark.requirement("TASK-3")
async def test_a_breadcrumb_expands_to_the_whole_artifact(agent: Agent) -> None:
    """A result points to a message, an archival entry or another task, which its id reads back whole."""
    recorded = await agent.record([{"role": "tool", "content": "line\n" * 3000, "tool_call_id": "c"}], session=S)
    entry = await agent.blocks.archive("The whole report")
    await agent.tasks.push("read the log", session=S)
    ended = await agent.tasks.pop("one error", session=S, artifacts=[(recorded.added[0], "log"), entry.id])
    assert [one.title for one in ended.artifacts] == ["log", ""]
    assert await agent.expand(recorded.added[0]) == "line\n" * 3000
    assert (await agent.tasks.expand(entry.id)).kind == "entry"
    assert await agent.expand(ended.id) == "one error"
    for expand in (agent.expand, agent.tasks.expand):
        with pytest.raises(NotFound):
            await expand("nothing")
    await agent.forget([recorded.added[0]])
    assert [one.id for one in (await agent.tasks.get(ended.id)).artifacts] == [entry.id]
