"""Replies: what is read of a provider's answer: whole ones, streams, and streams that end early."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.dialects.replies import read_reply, reply_id
from support.examples import examples

PROVIDERS = ("openai", "openai-responses", "anthropic")
KEYS = (
    *("type", "index", "delta", "choices", "tool_calls", "function", "content", "content_block", "output_index", "item"),
    *("response", "status", "output", "message"),
)


def stream(*events: Any, end: str = "\n") -> str:
    return "".join(f"event: x{end}data: {json.dumps(event, ensure_ascii=False)}{end}{end}" for event in events)


def read(provider: str, *events: Any, end: str = "\n") -> list[dict[str, Any]]:
    return read_reply(provider, stream(*events, end=end), events=True)


def chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any], ends: bool = True) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "content_block_start", "index": index, "content_block": start}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}] if ends else events


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stream_of_chat_is_put_together(end: str) -> None:
    """Words, and parallel calls by their index; line ends of every kind, and U+2028 within a text."""
    events = [
        chunk({"role": "assistant", "content": "One\u2028"}),
        chunk({"content": "two"}),
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "order", "arguments": '{"x"'}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "show", "arguments": "{}"}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}),
        chunk({}, "tool_calls"),
    ]
    (message,) = read("openai", *events, end=end)
    assert message["content"] == "One\u2028two"
    assert [(call["id"], call["function"]) for call in message["tool_calls"]] == [
        ("a", {"name": "order", "arguments": '{"x": 1}'}),
        ("b", {"name": "show", "arguments": "{}"}),
    ]


def test_of_a_stream_of_chat_that_ends_early_calls_are_left_out() -> None:
    """They may be half."""
    call = {"index": 0, "id": "a", "function": {"name": "order", "arguments": '{"x'}}
    assert read("openai", chunk({"content": "One"}), chunk({"tool_calls": [call]})) == [{"role": "assistant", "content": "One"}]
    assert read("openai", chunk({"tool_calls": [call]})) == []


def test_of_several_answers_none_is_read() -> None:
    """Which one is kept, the caller decides."""
    message = {"role": "assistant", "content": "One"}
    assert read("openai", chunk({"content": "One"}), chunk({"content": "Two"}, index=1)) == []
    assert read_reply("openai", json.dumps({"choices": [{"message": message}] * 2}), events=False) == []
    assert read_reply("openai", json.dumps({"choices": [{"message": message}]}), events=False) == [message]


def test_a_stream_of_messages_is_put_together() -> None:
    """Blocks by their index, input from its pieces, thinking left out."""
    order = {"type": "tool_use", "id": "a", "name": "order", "input": {}}
    events = [
        *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm."}),
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "One "}, {"type": "text_delta", "text": "two"}),
        *block(2, order, {"partial_json": '{"x"'}, {"partial_json": ": 1}"}),
        *block(3, {"type": "tool_use", "id": "b", "name": "show", "input": {}}),
    ]
    assert read("anthropic", *events) == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "One two"},
                {"type": "tool_use", "id": "a", "name": "order", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "show", "input": {}},
            ],
        }
    ]


def test_of_a_stream_of_messages_that_ends_early_a_half_call_is_left_out() -> None:
    """The words that came are read."""
    events = [
        *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "One"}, ends=False),
        *block(1, {"type": "tool_use", "id": "a", "name": "order", "input": {}}, {"partial_json": '{"x'}, ends=False),
    ]
    assert read("anthropic", *events) == [{"role": "assistant", "content": [{"type": "text", "text": "One"}]}]
    assert read("anthropic", *events[2:]) == []


def test_a_stream_of_a_response_is_read_by_its_last_event_or_by_its_items() -> None:
    """Where it ends early, the words of the message that was being written are a message of its own."""
    call = {"type": "function_call", "call_id": "a", "name": "order", "arguments": "{}"}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One two"}]}
    begun = {"type": "response.created", "response": {"status": "in_progress", "output": []}}
    items = [
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "One "},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "two"},
    ]
    ended = {"type": "response.completed", "response": {"status": "completed", "output": [call, message]}}
    assert read("openai-responses", begun, *items, ended) == [call, message]
    assert read("openai-responses", begun, *items) == [call, {"role": "assistant", "content": "One two"}]
    assert read_reply("openai-responses", json.dumps({"status": "queued", "output": [call]}), events=False) == []
    assert read_reply("openai-responses", json.dumps({"status": "incomplete", "output": [call]}), events=False) == [call]


@pytest.mark.parametrize(
    ("provider", "events"),
    [
        ("openai", [chunk({"content": "One"}), {"error": {"message": "overloaded"}}]),
        ("anthropic", [*block(0, {"type": "text"}, {"text": "One"}), {"type": "error", "error": {}}]),
        (
            "openai-responses",
            [{"type": "response.output_text.delta", "output_index": 0, "delta": "One"}, {"type": "response.failed"}],
        ),
    ],
)
def test_of_a_stream_that_ends_in_an_error_nothing_is_read(provider: str, events: Sequence[Any]) -> None:
    """Its caller asks again."""
    assert read(provider, *events[:-1])
    assert read(provider, *events) == []


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
@examples(200)
def test_no_text_and_no_event_of_any_shape_raises(provider: str, data: st.DataObject) -> None:
    """What can't be read is passed over."""
    leaf = st.one_of(st.none(), st.booleans(), st.integers(-1, 2), st.sampled_from(("content_block_start", "text", "x")))
    fields = st.sampled_from(KEYS)
    value = st.recursive(leaf, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(fields, inner), max_leaves=8)
    events = data.draw(st.lists(st.dictionaries(fields, value), max_size=4))
    whole = json.dumps(events[0]) if events else "["
    text = data.draw(st.sampled_from((stream(*events), json.dumps(events[:1]), whole, "data: [\n\n")))
    for streamed in (True, False):
        assert isinstance(read_reply(provider, text, events=streamed), list)


@pytest.mark.parametrize(
    ("provider", "whole", "first"),
    [
        ("openai", {"id": "chatcmpl-1"}, {"id": "chatcmpl-1", "choices": []}),
        ("openai-responses", {"id": "resp_1"}, {"type": "response.created", "response": {"id": "resp_1"}}),
        ("anthropic", {"id": "msg_1"}, {"type": "message_start", "message": {"id": "msg_1"}}),
    ],
)
def test_an_answer_has_the_id_that_its_provider_gave(provider: str, whole: dict[str, Any], first: dict[str, Any]) -> None:
    """Of a stream that of its first events, however long the stream is."""
    assert reply_id(provider, json.dumps(whole), events=False) == whole["id"]
    events = stream({"type": "ping"}, first, *({"type": "x", "response": {"id": "other"}} for _ in range(1_000)))
    assert reply_id(provider, events, events=True) == whole["id"]
    for odd in ("", "[", "{}", json.dumps({"id": 7}), "[" * 100_000, "data: {"):
        assert reply_id(provider, odd, events=False) is None
        assert reply_id(provider, odd, events=True) is None
