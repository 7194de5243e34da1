"""Delegated agents: what each mode gives them, whose data they see, and how their results come back (TASK-4)."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from germane import Agent, Germane
from germane.dialects.registry import dialect
from germane.errors import InvalidInput, NotFound, NotPermitted
from germane.kinds.inventory import AllowedIds
from germane.types.message import Wire
from germane.types.query import Filters
from germane.types.scope import Scope

S, MODEL = "work", "gpt-4o"

OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Fix the build"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "delegate", "arguments": "{}"}},
            {"id": "call_b", "type": "function", "function": {"name": "delegate", "arguments": '{"n": 2}'}},
        ],
    },
]
RESPONSES = [
    {"role": "user", "content": "Fix the build"},
    {"type": "function_call", "call_id": "call_a", "name": "delegate", "arguments": "{}"},
]
ANTHROPIC = [
    {"role": "user", "content": "Fix the build"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I hand this over."},
            {"type": "tool_use", "id": "toolu_a", "name": "delegate", "input": {}},
            {"type": "tool_use", "id": "toolu_b", "name": "read", "input": {"path": "x"}},
        ],
    },
]
ANTHROPIC_PART = [
    *ANTHROPIC,
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_b", "content": "x = 1"}]},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "Fix the build"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "delegate", "args": {}}}]},
]


@pytest.fixture
async def germane() -> AsyncIterator[Germane]:
    async with Germane.open(":memory:", warm=False) as opened:
        yield opened


@pytest.fixture
async def agent(germane: Germane) -> Agent:
    agent = germane.agent("coder", user="ada")
    await agent.directive("Answer in one sentence.")
    await agent.record([{"role": "user", "content": "The staging server Albatross listens on port 8443."}], session="old")
    await agent.tasks.push("Ship the zebra release", session=S)
    await agent.tasks.push("Read the log", session=S)
    await agent.tasks.pop("The clock of test_expiry is frozen", session=S)
    return agent


def everything(messages: Any, system: Any = "") -> str:
    return json.dumps([messages, system], default=str)


@pytest.mark.requirement("TASK-4")
@pytest.mark.parametrize(
    ("provider", "messages"),
    [
        ("openai", OPENAI),
        ("openai-responses", RESPONSES),
        ("anthropic", ANTHROPIC),
        ("anthropic", ANTHROPIC_PART),
        ("gemini", GEMINI),
        ("openai", OPENAI[:2]),
        ("anthropic", ANTHROPIC[:1]),
        ("gemini", GEMINI[:1]),
    ],
)
async def test_a_fork_keeps_the_prefix_and_closes_the_open_calls(agent: Agent, provider: str, messages: list[Any]) -> None:
    """Byte for byte what the parent sent, then results for the open calls and the task; the provider accepts it."""
    before = copy.deepcopy(messages)
    forked = await agent.delegate("Check the log", "fork", model=MODEL, session=S, messages=messages, provider=provider)
    assert messages == before
    kept = len(messages) - (messages is ANTHROPIC_PART)
    assert json.dumps(forked.messages[:kept]) == json.dumps(before[:kept])
    said = everything(forked.messages[kept:])
    assert "Check the log" in said
    system = None if provider == "openai" else "Be brief."
    sent = [message for message in forked.messages if isinstance(message, dict)]
    assert dialect(provider).problems(Wire(messages=sent, system=system)) == ()
    for call in ("call_a", "call_b") if messages is OPENAI else ("call_a",) if messages is RESPONSES else ():
        assert call in said
    assert "zebra" not in everything(forked.messages)


@pytest.mark.requirement("TASK-4")
async def test_isolated_gives_the_task_and_the_directive_alone(agent: Agent) -> None:
    given = await agent.delegate("Which port does Albatross listen on?", "isolated", model=MODEL, session=S)
    said = everything(given.messages, given.system)
    assert "Answer in one sentence." in said
    assert "Which port" in said
    assert not any(word in said for word in ("port 8443", "zebra", "frozen"))


@pytest.mark.requirement("TASK-4")
async def test_a_brief_holds_what_the_parent_knows_for_the_task(agent: Agent) -> None:
    """The task is the query over the parent's stack and history, within the tokens given; each candidate is explained."""
    given = await agent.delegate("Which port does Albatross listen on?", model=MODEL, session=S, max_tokens=400, deadline=None)
    said = everything(given.messages, given.system)
    assert all(word in said for word in ("8443", "zebra", "frozen", "Which port"))
    assert 0 < given.tokens <= 400
    assert "task (current)" in given.explain()
    assert given.session not in (S, "")


@pytest.mark.requirement("TASK-4")
async def test_the_result_comes_back_with_provenance_as_a_task_that_expands(agent: Agent) -> None:
    """Until then the parent's task stays open; afterwards it is in the parent's context, shortened, and whole by its handle."""
    given = await agent.delegate("Find the cause", "isolated", model=MODEL, session=S)
    with pytest.raises(InvalidInput, match=f"{given.id} .delegated"):
        await agent.tasks.pop("done", session=S)
    result = "The clock is wrong. " * 400
    ended = await given.complete(result)
    assert (ended.status, ended.provenance.channel, ended.provenance.session) == ("complete", "delegation", given.session)
    question = [{"role": "user", "content": "How far are we?"}]
    context = await agent.assemble(question, model=MODEL, session=S, max_tokens=500, deadline=None)
    handle = next(item.handle for item in context.items if item.id.startswith(given.id))
    assert "Done: Find the cause → The clock is wrong." in context.added
    assert await agent.expand(handle, context) == result.strip()
    with pytest.raises(InvalidInput, match="already"):
        await agent.delegations.finish(given.id, "again")
    with pytest.raises(NotFound):
        await agent.delegations.finish("nothing", "x")
    assert await agent.delegations.list(S, open=True) == ()
    assert [frame.id for frame in await agent.delegations.list(S)] == [given.id]
    await agent.tasks.pop("done", session=S)


@pytest.mark.requirement("TASK-4")
async def test_depth_and_number_are_bounded(agent: Agent) -> None:
    """Both errors name the setting."""
    session = S
    for _ in range(3):
        session = (await agent.delegate("Go on", "isolated", model=MODEL, session=session)).session
    with pytest.raises(InvalidInput, match="delegation_depth"):
        await agent.delegate("Too deep", "isolated", model=MODEL, session=session)
    running = [await agent.delegate("Beside", "isolated", model=MODEL, session="wide") for _ in range(16)]
    with pytest.raises(InvalidInput, match="setting delegations"):
        await agent.delegate("One too many", "isolated", model=MODEL, session="wide")
    await running[0].fail("no time")
    again = await agent.delegate("Room again", "isolated", model=MODEL, session="wide")
    await again.complete("done")
    with pytest.raises(InvalidInput, match="has ended"):
        await agent.delegate("From an agent that has ended", "isolated", model=MODEL, session=again.session)


@pytest.mark.requirement("TASK-4", "SCOPE-2")
async def test_a_child_sees_no_more_than_its_parent(agent: Agent, germane: Germane) -> None:
    """Another org, agent or user is refused; so is a sensitivity that the parent wasn't given, at any depth."""
    await agent.remember("The code of the safe is 4711", sensitivity="sensitive")
    for scope in (Scope(org="x", agent="coder"), Scope(agent="other", user="ada"), Scope(agent="coder", user="eve")):
        with pytest.raises(NotPermitted):
            await agent.delegate("Look", model=MODEL, session=S, scope=scope)
    narrow = await agent.delegate(
        "The code of the safe", model=MODEL, session=S, filters=Filters(sensitivities=("public",)), deadline=None
    )
    assert not any(word in everything(narrow.messages) for word in ("is 4711", "zebra", "port 8443"))
    with pytest.raises(NotPermitted, match="private"):
        await agent.delegate("More", model=MODEL, session=narrow.session, filters=Filters())
    with pytest.raises(NotPermitted, match="sensitive"):
        await narrow.assemble(
            [{"role": "user", "content": "safe"}], model=MODEL, filters=Filters(sensitivities=("sensitive", "public"))
        )
    with pytest.raises(NotPermitted):
        await agent.delegations.allowed(narrow.session, Filters())
    below = await agent.delegate("The code", model=MODEL, session=narrow.session)
    assert below.frame.allowed == ("public",)
    shared = await agent.delegate("Albatross port", model=MODEL, session=S, scope=Scope(agent="coder"), deadline=None)
    assert "port 8443" not in everything(shared.messages)
    usual = await agent.delegate("The code of the safe", model=MODEL, session=S, deadline=None)
    assert "is 4711" not in everything(usual.messages)


@pytest.mark.requirement("TASK-4", "SCOPE-2")
async def test_a_narrower_scope_evades_neither_depth_nor_sensitivities(agent: Agent, germane: Germane) -> None:
    """A child without the parent's user counts its depth, and is held to what its parent allowed, like any other."""
    agentwide, scope = germane.agent("coder"), Scope(agent="coder")
    given = await agent.delegate(
        "Go on", "isolated", model=MODEL, session=S, scope=scope, filters=Filters(sensitivities=("public",))
    )
    with pytest.raises(NotPermitted, match="private"):
        await agentwide.delegations.allowed(given.session, Filters())
    with pytest.raises(NotPermitted, match="private"):
        await agentwide.delegate("More", "isolated", model=MODEL, session=given.session, filters=Filters())
    session = given.session
    for _ in range(2):
        below = await agentwide.delegate("Go on", "isolated", model=MODEL, session=session)
        assert below.frame.allowed == ("public",)
        session = below.session
    with pytest.raises(InvalidInput, match="delegation_depth"):
        await agentwide.delegate("Too deep", "isolated", model=MODEL, session=session)
    await given.complete("done")
    with pytest.raises(InvalidInput, match="has ended"):
        await agentwide.delegate("After the end", "isolated", model=MODEL, session=given.session)


@pytest.mark.requirement("TASK-4", "SCOPE-2")
async def test_another_agent_or_user_is_not_bound_by_a_session_of_that_name(agent: Agent, germane: Germane) -> None:
    """What Ada delegated says nothing of the sessions of Eve, or of another agent or org."""
    given = await agent.delegate("Go on", "isolated", model=MODEL, session=S, filters=Filters(sensitivities=("public",)))
    for other in (germane.agent("coder", user="eve"), germane.agent("other"), germane.agent("coder", org="x")):
        assert await other.delegations.allowed(given.session) == Filters()
        await other.remember("The lamp is green")
        context = await other.assemble(
            [{"role": "user", "content": "Which colour is the lamp?"}], model=MODEL, session=given.session, deadline=None
        )
        assert "green" in context.added


@pytest.mark.requirement("TASK-4", "SCOPE-2")
async def test_what_a_child_may_not_see_takes_no_room_from_what_it_may(agent: Agent) -> None:
    """What fits better but isn't allowed is left out before the packing, and not from the packed text alone."""
    for room in range(12):
        await agent.remember(f"The colour of lamp {room} in the hall is blue", sensitivity="private")
    await agent.remember("One lamp was painted red", sensitivity="public")
    given = await agent.delegate("Look", "isolated", model=MODEL, session=S, filters=Filters(sensitivities=("public",)))
    asked = [{"role": "user", "content": "What is the colour of the lamp in the hall?"}]
    context = await agent.assemble(asked, model=MODEL, session=given.session, max_tokens=120, deadline=None)
    assert "red" in context.added
    assert "blue" not in context.added


@pytest.mark.requirement("TASK-4", "SCOPE-2")
@pytest.mark.parametrize("how", ["assemble", "build", "expand"])
async def test_a_session_is_held_to_what_its_parent_allowed_whoever_asks(agent: Agent, how: str) -> None:
    """A request that names the child's session and asks for more, past the handle that the child was given, gets no more."""
    await agent.remember("The code of the safe is 4711", sensitivity="sensitive")
    await agent.remember("The safe stands in room 8", sensitivity="private")
    await agent.remember("The safe is red", sensitivity="public")
    wide = Filters(sensitivities=("public", "private", "sensitive"))
    given = await agent.delegate("Look", "isolated", model=MODEL, session=S, filters=Filters(sensitivities=("public",)))
    asked = "What of the safe: its code, room, colour?"
    if how == "build":
        said = (await agent.build(asked, session=given.session, max_tokens=500, filters=wide, deadline=None)).content
    elif how == "expand":
        own = await agent.assemble([{"role": "user", "content": asked}], model=MODEL, session=S, filters=wide, deadline=None)
        code = next(item for item in own.items if "4711" in item.text)
        assert "4711" in await agent.expand(code.handle, own)
        stolen = agent._parts.store.within(agent.scope.within(given.session))
        assert await stolen.ask(AllowedIds([code.id], agent._parts.clock.now(), wide)) == frozenset()
        return
    else:
        said = (
            await agent.assemble(
                [{"role": "user", "content": asked}], model=MODEL, session=given.session, filters=wide, deadline=None
            )
        ).added
    assert "red" in said
    assert "is 4711" not in said
    assert "room 8" not in said


@pytest.mark.parametrize(
    ("mode", "options", "error"),
    [
        ("fork", {}, "needs the parent's messages"),
        ("brief", {"messages": OPENAI}, "takes no messages"),
        ("clone", {}, "mode must be one of"),
        ("brief", {"scope": "me"}, "scope must be a Scope"),
        ("fork", {"messages": [{"role": "user"}, 7]}, "message"),
    ],
)
async def test_what_cannot_be_delegated_says_why(agent: Agent, mode: str, options: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        await agent.delegate("Look", mode, model=MODEL, session=S, **options)
    assert await agent.delegations.list(S) == ()
