"""Generated conversations are the same for the same seed, can be read, and hold what they are made for."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from germane.dialects.opaque import signed
from germane.dialects.registry import parse_all
from germane.dialects.tool_state import result_state
from germane.errors import InvalidInput, UnknownName
from germane.types.message import Image, Message, Opaque, ToolResult
from germane_testing.conversations import ODDITIES, SHAPES, generated
from germane_testing.validators import validate

pytestmark = pytest.mark.requirement("HIST-4", "HIST-5")

PROVIDERS = tuple(SHAPES)


def odd(provider: str, name: str, **more: float) -> tuple[list[dict[str, Any]], tuple[Message, ...]]:
    """A long conversation with one oddity at its full rate."""
    raws = generated(5, provider, messages=(200, 200), oddities={name: 1.0, **more}).messages
    return raws, parse_all(raws, provider)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_seed_is_a_conversation(provider: str) -> None:
    """Another seed or provider is another one; a number and its text are one seed."""
    one = generated(1, provider, messages=(30, 30))
    assert one == generated("1", provider, messages=(30, 30))
    assert one.messages != generated(2, provider, messages=(30, 30)).messages
    assert len(one.messages) == 30
    assert one.max_tokens > 0
    assert provider in repr(one)
    json.dumps(one.messages)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_conversation_can_be_read(provider: str) -> None:
    """Whatever was done to it: only what can't be parsed at all is left out."""
    lengths, seen = [], Counter[str]()
    for seed in range(150):
        conversation = generated(seed, provider, messages=(1, 300))
        assert len(parse_all(conversation.messages, provider)) == len(conversation.messages) <= 300
        lengths.append(len(conversation.messages))
        seen.update(conversation.oddities.keys() or ["none"])
    assert min(lengths) <= 2
    assert max(lengths) == 300
    assert set(seen) == {*ODDITIES, "none"}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_without_oddities_only_the_end_may_be_open(provider: str) -> None:
    """The conversation is cut at the number of messages: calls may wait there, and a system message leads."""
    for seed in range(40):
        conversation = generated(seed, provider, messages=(1, 60), oddities={})
        found = {violation.rule for violation in validate(conversation.messages, provider)}
        assert found <= {"call-without-result", "system-place", "role", "no-messages", "first-turn"}
        pairs = Counter(found)
        assert pairs["result-without-call"] == 0


def test_each_oddity_does_what_it_says() -> None:
    """One example each, where the conversation shows it."""
    _, messages = odd("anthropic", "opaque")
    assert any(isinstance(part, Opaque) and signed(part) for message in messages for part in message.parts)
    raws, _ = odd("gemini", "opaque")
    assert any("thoughtSignature" in part for raw in raws for part in raw["parts"])
    assert {"reasoning", "web_search_call", "mcp_approval_request"} <= {
        raw.get("type") for raw in odd("openai-responses", "opaque")[0]
    }
    _, messages = odd("anthropic", "media")
    assert any(isinstance(part, Image) for message in messages for part in message.parts)
    raws, messages = odd("openai", "pending")
    pairs = [(part, raw) for raw, message in zip(raws, messages, strict=True) for part in message.tool_results]
    assert {result_state(part, raw) for part, raw in pairs} == {"pending", "interim", "final"}
    assert any(part.error for message in odd("anthropic", "errors")[1] for part in message.tool_results)
    assert any(len(part.text) > 5_000 for message in odd("openai", "huge")[1] for part in message.tool_results)
    assert any("\ud800" in message.text for message in odd("openai", "hostile")[1])
    assert any("parts" in raw for raw in odd("openai", "foreign")[0])
    ids = [call.id for message in odd("openai", "ids twice")[1] for call in message.tool_calls]
    assert max(Counter(ids).values()) > 1
    assert "" in ids
    assert any(call.arguments == "" for message in odd("openai", "leftovers")[1] for call in message.tool_calls)
    assert any(call.name == "9 lives!" for message in odd("openai", "unfit names")[1] for call in message.tool_calls)
    assert any(message.role == "system" for message in odd("openai", "system inside")[1][1:])


@pytest.mark.parametrize("name", ["interleaved", "orphaned", "repeated", "swapped"])
def test_what_breaks_pairs_breaks_them(name: str) -> None:
    """The chat API would refuse each of these conversations."""
    raws, _ = odd("openai", name)
    broken = {violation.rule for violation in validate(raws, "openai")}
    assert broken & {"call-without-result", "result-without-call"}


def test_results_follow_their_calls_in_any_order() -> None:
    """Interleaved results of one turn are there, only later."""
    _, messages = odd("openai-responses", "interleaved")
    calls = [call.id for message in messages for call in message.tool_calls]
    results = [part.call_id for message in messages for part in message.parts if isinstance(part, ToolResult)]
    assert calls != results
    assert set(results) <= set(calls)


def test_what_is_asked_for_is_checked() -> None:
    """Errors name the argument."""
    with pytest.raises(UnknownName, match=r"provider .* is unknown"):
        generated(1, "bedrock")
    with pytest.raises(InvalidInput, match="messages must be two numbers"):
        generated(1, "openai", messages=(5, 1))
    with pytest.raises(InvalidInput, match="unknown oddities: tears"):
        generated(1, "openai", oddities={"tears": 1})
