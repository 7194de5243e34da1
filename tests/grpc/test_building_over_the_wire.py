"""Building whole requests and checking the calls of a turn over gRPC: what the library gives, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from germane import Agent, InvalidInput
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.grpc.messages import memory_pb2
from germane.tool_rules.enforce import ToolRules
from germane.tool_rules.value import (
    Allow,
    AskConsent,
    EndsTurn,
    MaxCalls,
    Refuse,
    RequiredBeforeExit,
    RequiresConsent,
    StartWith,
    ToolRule,
)
from germane.types.message import ToolCall
from support.listening import SCOPE, Wire, answered, calling, listening, opened, refused

pytest.importorskip("loro")
LONG = 30.0
ASK = [{"role": "user", "content": "When does the warehouse open?"}]
RULES: list[ToolRule] = [
    StartWith(tool="look"),
    MaxCalls(tool="look", count=2),
    RequiresConsent(tool="pay", of="partner"),
    RequiredBeforeExit(tool="note"),
    EndsTurn(tool="send"),
]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[tuple[Agent, Client, Wire]]:
    given: Any = {"org": "acme", "agent": "support", "limit": LONG, "patience": LONG}
    async with opened(tmp_path) as germane, listening(germane) as wire, Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme"), client, wire


def call(name: str, id: str = "c", **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments))


@pytest.mark.requirement("BUILD-1", "RPC-2")
@pytest.mark.parametrize(("model", "provider"), [("claude-opus-4-8", None), ("gpt-4o", None), ("gpt-5", "openai-responses")])
async def test_a_request_is_that_of_the_library(service: tuple[Agent, Client, Wire], model: str, provider: str | None) -> None:
    """With instructions, blocks, tools, their rules, limits and what was found; the metadata say the same."""
    agent, client, _ = service
    await agent.blocks.create("persona", text="I am calm", type="core", description="who I am")
    await agent.blocks.create("plan", text="Ask for the key")
    builder = (
        agent.builder()
        .with_model(model, provider)
        .with_base_instructions("Be brief.")
        .with_tools(TOOLS)
        .with_tool_rules(RULES)
        .with_batch_blocks("plan", "nothing")
        .with_messages(ASK)
        .with_limits(memory_tokens=3_000)
        .with_deadline(LONG)
    )
    own = await builder
    options: dict[str, Any] = {"instructions": "Be brief.", "tools": TOOLS, "rules": RULES, "blocks": ["plan", "nothing"]}
    limits = {"memory_tokens": 3_000}
    built = await client.build(ASK, model=model, provider=provider, limits=limits, deadline=LONG, **options)
    assert built.as_kwargs() == own.as_kwargs()
    assert (built.provider, built.faults, built.estimated_tokens) == (own.provider, (), own.metadata.estimated_tokens)
    assert "I am calm" in str(built.kwargs)
    assert "Ask for the key" in str(built.kwargs)
    assert [one["label"] for one in built.metadata["blocks"]] == ["persona", "plan"]
    assert built.metadata["blocks_left_out"] == [{"label": "nothing", "reason": "unknown"}]
    assert built.metadata["limits"]["memory_tokens"] == 3_000
    assert built.as_kwargs(temperature=0)["temperature"] == 0
    assert "persona" not in repr(built)

    def blocking() -> dict[str, Any]:
        target = client._connection.address.target
        with Blocking(target, org="acme", agent="support", limit=LONG, patience=LONG) as twin:
            built = twin.build(ASK, model=model, provider=provider, limits=limits, deadline=LONG, **options)
            return built.as_kwargs()

    assert await asyncio.to_thread(blocking) == own.as_kwargs()


@pytest.mark.requirement("RULE-2", "RPC-2")
async def test_a_turn_goes_on_from_call_to_call(service: tuple[Agent, Client, Wire]) -> None:
    """The state that goes back and forth is the library's; verdicts, reasons and rules are its values."""
    _, client, _ = service
    turn, state = ToolRules(RULES), ""
    steps: list[dict[str, Any]] = [
        {"calls": [call("pay", amount=1), call("look"), call("look"), call("look")]},
        {"made": [call("look")], "calls": [call("pay", amount=1), call("send")]},
        {"approved": [call("pay", amount=1)], "calls": [call("pay", amount=1), call("pay", amount=2)]},
        {"made": [call("pay", amount=1), call("note")], "calls": [call("pay", amount=1), call("send")]},
        {"made": [call("send")], "calls": [call("look")]},
        {"begin_turn": True, "calls": [call("look"), call("other")]},
    ]
    seen = set[type]()
    for step in steps:
        answer = await client.check_tool_calls(RULES, state=state, **step)
        if step.get("begin_turn"):
            turn.begin_turn()
        for one in step.get("approved", ()):
            turn.approve(one)
        turn.called(*step.get("made", ()))
        assert answer.verdicts == turn.check_all(step["calls"])
        assert (answer.owed, answer.may_exit, answer.next_step) == (turn.before_exit(), turn.may_exit, turn.next_step)
        assert json.loads(answer.state).keys() == json.loads(turn.as_json()).keys()
        assert "approved" not in repr(answer)
        seen |= set(map(type, answer.verdicts))
        state = answer.state
    assert seen == {Allow, Refuse, AskConsent}


async def test_rules_may_be_given_as_dicts(service: tuple[Agent, Client, Wire]) -> None:
    """As settings and the wire have them; a request without calls tells what is owed."""
    _, client, _ = service
    answer = await client.check_tool_calls([{"kind": "required_before_exit", "tool": "note"}])
    assert ([owed.tool for owed in answer.owed], answer.may_exit, answer.verdicts) == (["note"], False, ())


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"model": ""}, "model must"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": ""}], "provider": "nothing"}, "provider"),
        ({"tools": "{"}, "tools must be a list"),
        ({"tools": {}}, "tools must be a list"),
        ({"rules": [{"kind": "nothing"}]}, "rules[0].kind"),
        ({"rules": [{"kind": "max_calls", "tool": "a", "count": 0}]}, "count"),
        ({"rules": [{"kind": "start", "tool": "a"}, {"kind": "start", "tool": "b"}]}, "contradict each other"),
        ({"rules": [{"kind": "start", "tool": "a"}] * 1_001}, "rules"),
        ({"blocks": ["x" * 2_000]}, "has 2,000 characters"),
        ({"limits": {"history_tokens": 0}}, "history_tokens"),
        ({"limits": {"max_tokens": -1}}, "max_tokens"),
        ({"deadline": -1}, "deadline"),
        ({"deadline": 10**8}, "deadline"),
        ({"window": -1}, "window"),
        ({"strategy": "nothing"}, "nothing"),
        ({"activity": [[None, "a", "b"]]}, "activity[0][0] must be"),
        ({"activity": [["20260101", "a"]]}, "activity[0] must be a list of 3"),
        ({"instructions": "x" * 10_000_000}, ""),
        ({"whose": memory_pb2.Scope(org_id="acme")}, "agent_id is missing"),
    ],
)
async def test_a_request_that_cant_be_built_says_why(tmp_path: Path, fields: dict[str, Any], why: str) -> None:
    """The field that is missing or wrong, and nothing of its content."""
    async with opened(tmp_path) as germane, listening(germane) as wire:
        given: dict[str, Any] = {"whose": SCOPE, "model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
        code, text = await refused(calling(wire, "build", **(given | fields)))
        assert code in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")
        assert why in text


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"calls": [{"id": "a"}]}, "calls[0] lacks name"),
        ({"made": [{"id": "a", "name": "x" * 1_000}]}, "made[0].name"),
        ({"approved": [{"id": "a", "name": "look"}]}, "needs no consent"),
        ({"state": "{}"}, "state "),
        ({"state": "x" * 2_000_000}, "state "),
        ({"calls": [{"id": "a", "name": "look"}] * 1_001}, "calls"),
        ({"rules": [{"kind": 5}]}, "kind"),
        ({"whose": memory_pb2.Scope(agent_id="x")}, "org_id is missing"),
    ],
)
async def test_calls_that_cant_be_checked_say_why(tmp_path: Path, fields: dict[str, Any], why: str) -> None:
    """Before anything is recorded: the answer holds no state."""
    async with opened(tmp_path) as germane, listening(germane) as wire:
        given: dict[str, Any] = {"whose": SCOPE, "rules": [{"kind": "start", "tool": "look"}]}
        code, text = await refused(calling(wire, "check_tool_calls", **(given | fields)))
        assert code == "INVALID_ARGUMENT"
        assert why in text


async def test_what_the_client_cant_send_it_refuses(service: tuple[Agent, Client, Wire]) -> None:
    """Before the call."""
    _, client, _ = service
    for call_ in (
        lambda: client.build(ASK, model=""),
        lambda: client.build(ASK, model="gpt-4o", blocks="plan"),
        lambda: client.build(ASK, model="gpt-4o", limits={"tokens": 1}),
        lambda: client.build(ASK, model="gpt-4o", limits={"max_tokens": -1}),
        lambda: client.build(cast("Any", [object()]), model="gpt-4o"),
        lambda: client.build(ASK, model="gpt-4o", rules=[{"kind": "nothing"}]),
        lambda: client.build(ASK, model="gpt-4o", window=0),
        lambda: client.check_tool_calls([], ["look"]),  # type: ignore[list-item]
    ):
        with pytest.raises(InvalidInput):
            await call_()


@pytest.mark.requirement("SCOPE-2")
async def test_a_builder_over_the_wire_shows_nobody_elses_blocks(service: tuple[Agent, Client, Wire]) -> None:
    """Neither by label nor by id, of another user, agent or org."""
    agent, _, wire = service
    block = await agent.blocks.create("secret", text="canary", type="core")
    for scope in (
        memory_pb2.Scope(org_id="acme", agent_id="other"),
        memory_pb2.Scope(org_id="other", agent_id="support"),
        memory_pb2.Scope(org_id="acme", agent_id="other", user_id="ben"),
    ):
        messages = [{"role": "user", "content": "secret canary?"}]
        given: Any = {"model": "gpt-4o", "messages": messages, "blocks": ["secret", block.id], "deadline": 20.0}
        answer = await answered(calling(wire, "build", whose=scope, **given))
        assert str(answer["kwargs"]).count("canary") == 1
        assert [one["reason"] for one in answer["metadata"]["blocks_left_out"]] == ["unknown", "unknown"]
