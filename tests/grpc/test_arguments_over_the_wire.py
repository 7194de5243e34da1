"""Effort, window, like and the system prompt beside the messages, from the client through the service and back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import grpc
import pytest

from germane.api.agent import Agent
from germane.api.remote.answer import Answer, ClientMetadata
from germane.grpc.answer import metadata_from_wire
from germane.grpc.client import Client
from germane.grpc.client.conversation import Altered, verify_reply
from germane.grpc.messages import context_pb2
from germane.grpc.server.assembly_servicer import GermaneResponses
from germane.grpc.server.grpc_server import GrpcServer
from germane.grpc.server.to_wire import metadata
from germane.types.message import system_text
from germane.types.reports import Metadata, SourceReport
from support.listening import Wire, asked, listening, opened, patient
from support.loopback import unused_port

QUESTION = "When does the warehouse open?"
ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
OWN = "You are a storeman."
BLOCKS = [{"type": "text", "text": OWN, "cache_control": {"type": "ephemeral"}}]
PARTS = {"parts": [{"text": OWN}]}


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with opened(tmp_path) as germane, listening(germane) as wire:
        yield wire


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with opened(tmp_path) as germane:
        server = GrpcServer(germane, patient())
        await server.start()
        try:
            async with Client(str(server.address), org="acme", agent="support", limit=30.0) as client:
                yield client
        finally:
            await server.stop(0)


def options(**given: Any) -> context_pb2.AssembleOptions:
    return context_pb2.AssembleOptions(**given)


@pytest.mark.requirement("RPC-1", "INJECT-7")
@pytest.mark.parametrize(("provider", "system"), [("anthropic", OWN), ("anthropic", BLOCKS), ("gemini", PARTS)])
async def test_the_prompt_returns_behind_the_added_text(wire: Wire, provider: str, system: Any) -> None:
    """In `system_json`, cached blocks in front; for OpenAI as a message between the added one and the caller's."""
    apart = options(provider=provider, system_json=json.dumps(system), strategy="compact")
    answer = await wire.assembly.AssembleContext(asked(options=apart))
    text = system_text(json.loads(answer.system_json))
    assert (text.index("seven") < text.index(OWN)) != (provider == "anthropic" and system is BLOCKS)
    assert [message.role for message in answer.messages] == ["user"]
    answer = await wire.assembly.AssembleContext(asked(options=options(system_json=json.dumps(system), strategy="compact")))
    assert [message.role for message in answer.messages] == ["system", "system", "user"]
    assert answer.messages[1].content == OWN or OWN in answer.messages[1].json


@pytest.mark.requirement("RPC-1", "INJECT-6", "INJECT-7")
@pytest.mark.parametrize(("provider", "system"), [("anthropic", OWN), ("anthropic", BLOCKS), ("gemini", PARTS)])
async def test_by_default_only_the_directive_stands_with_the_prompt(wire: Wire, provider: str, system: Any) -> None:
    """It stands behind cached blocks, else in front. What was found goes with the newest human turn: inside it, or for OpenAI
    as a system message before it."""
    answer = await wire.assembly.AssembleContext(asked(options=options(provider=provider, system_json=json.dumps(system))))
    text = system_text(json.loads(answer.system_json))
    assert (text.index("Answer kindly.") > text.index(OWN)) == (provider == "anthropic" and system is BLOCKS)
    assert "seven" not in text
    assert [message.role for message in answer.messages] == ["user"]
    assert answer.messages[0].json.index("seven") < answer.messages[0].json.index(QUESTION)
    answer = await wire.assembly.AssembleContext(asked(options=options(system_json=json.dumps(system))))
    assert [message.role for message in answer.messages] == ["system", "system", "user", "user"]
    assert "Answer kindly." in answer.messages[0].content
    assert answer.messages[1].content == OWN or OWN in answer.messages[1].json
    assert "seven" in answer.messages[2].content


@pytest.mark.requirement("BUD-1a", "AMOUNT-2")
async def test_a_described_model_and_an_effort_reach_the_engine(wire: Wire) -> None:
    """The warning about a model is in the metadata until the request describes it."""
    unknown = await wire.assembly.AssembleContext(asked(model="nobody-knows-it"))
    assert "the catalog has no model 'nobody-knows-it'" in unknown.metadata.warnings[0]
    described = options(like="gpt-4.1", window=32_000, effort="high", explain=True)
    known = await wire.assembly.AssembleContext(asked(model="nobody-knows-it", options=described))
    assert list(known.metadata.warnings) == []
    assert "of a window of 32000" in known.explanation


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"effort": "huge"}, "effort must be low, medium, high"),
        ({"effort": "nan"}, "effort"),
        ({"window": -1}, "options.window must be 0 or more"),
        ({"like": "frobnicate-9"}, "like must name a model of the catalog"),
        ({"system_json": "{"}, "options.system_json isn't JSON"),
        ({"system_json": "5"}, "system_json must be a string"),
        ({"system_json": '[{"type": "image"}]'}, "must be a text block"),
    ],
)
async def test_an_option_that_cannot_be_used_is_named(wire: Wire, given: dict[str, Any], named: str) -> None:
    """INVALID_ARGUMENT, before anything is done."""
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await wire.assembly.AssembleContext(asked(options=options(**given)))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert named in str(refused.value.details())


@pytest.mark.requirement("ENGINE-2", "INJECT-7")
def test_an_answer_without_anything_holds_the_prompt() -> None:
    """The service's last resort: the request's own messages and prompt."""
    apart = asked(options=options(provider="anthropic", system_json=json.dumps(BLOCKS)))
    reply = GermaneResponses().unchanged(apart, Metadata(), "")
    assert isinstance(reply, context_pb2.AssembleContextResponse)
    assert json.loads(reply.system_json) == BLOCKS
    assert len(reply.messages) == 1
    reply = GermaneResponses().unchanged(asked(options=options(system_json=json.dumps(BLOCKS))), Metadata(), "")
    assert isinstance(reply, context_pb2.AssembleContextResponse)
    assert [(message.role, message.content) for message in reply.messages] == [("system", OWN), ("user", QUESTION)]


async def told(client: Client, own: Any, provider: str, system: Any, **given: Any) -> Answer:
    """The client's answer to a call with every argument that describes the model."""
    given |= {"provider": provider, "system": system, "effort": 2, "window": 32_000, "like": "gpt-4o"}
    answer = await client.assemble([own], model="nobody-knows-it", **given)
    assert answer.metadata.fallback_reason == ""
    assert answer.metadata.warnings == ()
    return answer


@pytest.mark.requirement("RPC-3", "INJECT-7")
@pytest.mark.parametrize(
    ("provider", "system"), [("anthropic", OWN), ("anthropic", BLOCKS), ("gemini", PARTS), ("openai", OWN), ("openai", BLOCKS)]
)
async def test_the_client_sends_and_returns_the_prompt(client: Client, provider: str, system: Any) -> None:
    """With the other arguments; the caller's messages are the caller's objects."""
    own = {"role": "user", "parts": [{"text": QUESTION}]} if provider == "gemini" else ASKED[0]
    answer = await told(client, own, provider, system, strategy="compact")
    assert answer.messages[-1] is own
    said = system_text(answer.system) or "\n".join(message["content"] for message in answer.messages)
    cached = provider == "anthropic" and system is BLOCKS
    assert (said.index("seven") < said.index(OWN)) != cached


@pytest.mark.requirement("RPC-3", "INJECT-6", "INJECT-7")
@pytest.mark.parametrize(
    ("provider", "system"), [("anthropic", OWN), ("anthropic", BLOCKS), ("gemini", PARTS), ("openai", OWN), ("openai", BLOCKS)]
)
async def test_by_default_the_client_returns_the_turn_behind_the_added_text(client: Client, provider: str, system: Any) -> None:
    """The prompt holds the directive only; the caller's object stays the caller's where the text is a message of its own."""
    own = {"role": "user", "parts": [{"text": QUESTION}]} if provider == "gemini" else ASKED[0]
    answer = await told(client, own, provider, system)
    if provider == "openai":
        assert [message["role"] for message in answer.messages] == ["system", "system", "user", "user"]
        assert answer.messages[-1] is own
        prompt, (added, turn) = "\n".join(one["content"] for one in answer.messages[:2]), answer.messages[2:]
        texts = [added["content"], turn["content"]]
    else:
        (turn,) = answer.messages
        prompt, texts = system_text(answer.system), [part["text"] for part in turn.get("parts") or turn["content"]]
    cached = provider == "anthropic" and system is BLOCKS  # what the caller caches stands first
    assert (prompt.index("Answer kindly.") > prompt.index(OWN)) == cached
    assert "seven" not in prompt
    assert "seven" in texts[0]
    assert texts[1:] == [QUESTION]
    assert answer.metadata.memories_injected == 1


@pytest.mark.requirement("RPC-1", "RPC-3", "NEED-1")
async def test_need_and_its_threshold_reach_the_client(client: Client) -> None:
    """They aren't set for a strategy that doesn't ask whether anything is needed."""
    answer = await told(client, ASKED[0], "openai", OWN)
    assert (answer.metadata.need_threshold, answer.metadata.earlier_tokens) == (0.13, 0)
    assert 0.13 <= (answer.metadata.need or 0) <= 1
    answer = await told(client, ASKED[0], "openai", OWN, strategy="compact")
    assert (answer.metadata.need, answer.metadata.need_threshold) == (None, None)


@pytest.mark.parametrize("need", [None, 0.0, 0.25])
def test_metadata_are_the_same_on_both_sides_of_the_wire(need: float | None) -> None:
    """Every field, but for the history's, as the service leaves the messages whole; a P(need) of 0 isn't an unset one."""
    report = Metadata(
        directive_injected=True,
        memories_injected=1,
        memories_available=2,
        total_tokens_injected=40,
        context_window_used=3,
        was_truncated=True,
        fallback_reason="assembly_timeout",
        memory_ids=("a",),
        degradation_level=1,
        sources=(SourceReport(name="messages", status="skipped", reason="busy", latency=0.5, found=2),),
        timings=(("gather", 0.25),),
        cached=True,
        warnings=("unknown model",),
        need=need,
        need_threshold=need,
        earlier_tokens=12,
        profile_tokens=7,
        thinking_prefix_changed=True,
    )
    unset = [field.name for field in fields(report) if not getattr(report, field.name)]
    assert all(name.startswith("need") or name == "history" for name in unset)
    read = metadata_from_wire(metadata(report, "r1"))
    assert read == ClientMetadata(**{field.name: getattr(report, field.name) for field in fields(report)}, request_id="r1")


@pytest.mark.requirement("RPC-3", "INJECT-7")
@pytest.mark.parametrize(("provider", "system"), [("anthropic", BLOCKS), ("gemini", PARTS)])
async def test_a_client_without_a_service_gives_the_prompt_back(provider: str, system: Any) -> None:
    """Where it came from: a caller sends both, whatever happened."""
    async with Client(f"127.0.0.1:{unused_port()}") as client:
        answer = await client.assemble(ASKED, model="gpt-4o", provider=provider, system=system)
        assert (answer.messages, answer.system) == (ASKED, system)
        answer = await client.assemble(ASKED, model="gpt-4o", system=system)
        assert (answer.messages, answer.system) == ([{"role": "system", "content": OWN}, *ASKED], None)


@pytest.mark.parametrize(
    "wrong", [{"effort": "huge"}, {"effort": True}, {"window": 0}, {"window": "32000"}, {"like": 5}, {"system": 5}]
)
async def test_a_wrong_argument_is_told_by_the_reason(wrong: dict[str, Any]) -> None:
    """The client never raises; it sends nothing."""
    async with Client(f"127.0.0.1:{unused_port()}") as client:
        answer = await client.assemble(ASKED, model="gpt-4o", provider="anthropic", **wrong)
    assert answer.metadata.fallback_reason == "client_error:InvalidInput"
    assert answer.messages == ASKED


@pytest.mark.requirement("RPC-3", "INJECT-7")
@pytest.mark.parametrize("reply", ["", json.dumps("other words"), json.dumps([{"type": "text", "text": OWN}])])
def test_an_answer_that_lost_the_prompt_or_its_mark_is_refused(reply: str) -> None:
    """No word of the caller's and no `cache_control` may be missing; a service that doesn't know the field loses both."""
    with pytest.raises(Altered):
        verify_reply([], context_pb2.AssembleContextResponse(system_json=reply), BLOCKS)


@pytest.mark.requirement("ENGINE-2", "INJECT-7")
@pytest.mark.parametrize("strategy", ["compact", "default"])
async def test_the_directive_alone_comes_with_the_prompt(wire: Wire, monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    """Where the engine fails, the port answers by itself; it knows the described model too. The directive stands
    behind cached blocks. By default the system prompt is that of a full answer, to the byte: a prompt cache holds."""

    async def failing(self: Agent, messages: Any, **options: Any) -> Any:
        raise RuntimeError

    own = options(provider="anthropic", like="gpt-4.1", window=32_000, effort="low", system_json=json.dumps(BLOCKS))
    own.strategy = strategy
    full = await wire.assembly.AssembleContext(asked(model="nobody-knows-it", options=own))
    monkeypatch.setattr(Agent, "assemble", failing)
    answer = await wire.assembly.AssembleContext(asked(model="nobody-knows-it", options=own))
    assert (answer.metadata.fallback_reason, answer.metadata.degradation_level) == ("assembly_error:RuntimeError", 2)
    assert list(answer.metadata.warnings) == []
    system = json.loads(answer.system_json)
    assert system[0] == BLOCKS[0]  # cached blocks first
    assert "Answer kindly." in system[-1]["text"]
    assert (answer.system_json == full.system_json) == (strategy == "default")
