"""Shaping is an upper bound: no written conversation costs more than measure and shaping counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import measure
from germane.dialects.registry import DIALECTS, dialect, shaping
from germane.models.tokenizers import open_tokenizer
from germane.types.message import Image, Message, Text, ToolCall, ToolResult, Wire
from support.examples import examples
from support.oracle import oracle
from support.wild_conversations import conversations

GPT = Catalog.built_in().find("gpt-4o")
O200K = open_tokenizer("o200k")


def read(messages: list[Message]) -> list[Message]:
    """Without images and parts that nobody reads: their prices are assumptions, and would hide what is missing."""
    kept = (Text, ToolCall, ToolResult)
    return [replace(one, parts=tuple(part for part in one.parts if isinstance(part, kept))) for one in messages]


def counted(messages: list[Message]) -> int:
    return measure(messages, (), GPT, O200K, 8000).messages + shaping(messages, GPT, O200K.count)


def weight(wire: Wire) -> int:
    """A conversation as it is sent: every text in it, and what stands around each message."""
    count = oracle("o200k")
    system = [wire.system] if isinstance(wire.system, str) else [part["text"] for part in wire.system or []]
    texts = [*system, *(text for message in wire.messages for text in _texts(message))]
    return 3 + 4 * (len(wire.messages) + bool(system)) + sum(map(count, texts))


def _texts(message: dict[str, Any]) -> Iterator[str]:
    yield from (message[key] for key in ("name", "tool_call_id") if key in message)
    yield from (message[key] for key in ("call_id", "arguments", "output") if key in message)
    for call in message.get("tool_calls", ()):
        yield from (call["id"], call["function"]["name"], call["function"]["arguments"])
    content = message.get("content", message.get("parts"))
    parts: list[dict[str, Any]] = [{"text": content}] if isinstance(content, str) else content or []
    for part in parts:
        if "input" in part:
            yield from (part["id"], part["name"], json.dumps(part["input"], ensure_ascii=False))
        elif "functionCall" in part:
            call = part["functionCall"]
            yield from (call.get("id", ""), call["name"], json.dumps(call["args"], ensure_ascii=False))
        elif "functionResponse" in part:
            answer = part["functionResponse"]
            yield from (answer.get("id", ""), answer["name"], *answer["response"].values())
        else:
            yield from (part[key] for key in ("tool_use_id", "text", "content") if isinstance(part.get(key), str))


@pytest.mark.requirement("BUD-4")
@pytest.mark.parametrize("provider", [one.name for one in DIALECTS])
@examples(200)
@given(conversations.map(read))
def test_no_conversation_costs_more_than_was_counted(provider: str, messages: list[Message]) -> None:
    """Whatever was cut from it: calls without results, results without calls, no ids, no names, the model's turn first."""
    assert weight(dialect(provider).render(messages)) <= counted(messages)


EXCHANGE = (
    Message.of("user", "How warm is it in Graz?"),
    Message(role="assistant", parts=(ToolCall(id="call_a", name="wetter_für_morgen", arguments='{"city":"Graz","unit":"C"}'),)),
    Message(role="tool", parts=(ToolResult(call_id="call_a", text="17"),)),
)


@pytest.mark.requirement("BUD-4")
@pytest.mark.parametrize("provider", [one.name for one in DIALECTS])
@pytest.mark.parametrize("cut", range(4))
def test_an_exchange_of_tool_calls_costs_no_more_than_was_counted(provider: str, cut: int) -> None:
    """Whole, and cut anywhere; a provider that wants names with results gets them."""
    for messages in (EXCHANGE[cut:], EXCHANGE[:cut], (*EXCHANGE, *EXCHANGE[cut:])):
        assert weight(dialect(provider).render(messages)) <= counted(list(messages))


@pytest.mark.requirement("BUD-4")
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_the_turn_put_before_the_models_own_is_counted(provider: str) -> None:
    """It was seven tokens over."""
    messages = [Message.of("assistant", "Hello, how can I help?"), Message.of("user", "Not now.")]
    wire = dialect(provider).render(messages)
    assert len(wire.messages) == 3
    assert weight(wire) <= counted(messages)
    assert weight(wire) > measure(messages, (), GPT, O200K, 8000).messages


@pytest.mark.requirement("BUD-4")
@examples(50)
@given(st.lists(st.builds(Message.of, st.sampled_from(["user", "assistant", "system"]), st.text(max_size=20)), max_size=6))
def test_a_conversation_that_the_user_begins_costs_what_it_did(messages: list[Message]) -> None:
    """Nothing is added to a conversation of texts."""
    begun = [Message.of("user", "hi"), *messages]
    assert shaping(begun, GPT, O200K.count) == 0


@pytest.mark.requirement("BUD-4")
def test_what_shaping_adds_is_taken_off_what_is_available() -> None:
    """Not off what the messages themselves may fill."""
    messages, profile = [Message.of("assistant", "hi")], replace(GPT, window=5000, max_output=500)
    without, within = (measure(messages, (), profile, O200K, 8000, shaping=extra) for extra in (0, 7))
    assert without.available - within.available == 7
    assert without.messages == within.messages


def test_a_note_in_the_place_of_an_image_costs_no_more_than_was_counted() -> None:
    """An address may be longer than the picture is dear."""
    messages = [Message.of("user", "x"), Message(role="assistant", parts=(Image(url="https://x.test/" + "a1/" * 900),))]
    assert weight(dialect("anthropic").render(messages)) <= counted(messages)
