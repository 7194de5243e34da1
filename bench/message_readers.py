"""Message readers: the functions that read tool results and provider's own items, for `bench/linear.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from germane.dialects.answer_copy import AnswerCopy, decoded
from germane.dialects.edits import masked
from germane.dialects.model_calls import ChangedBody, read_call
from germane.dialects.opaque import opaque
from germane.dialects.registry import DIALECTS
from germane.dialects.replies import read_reply, reply_id
from germane.dialects.tool_state import result_state, unsettled, waits_for_confirmation
from germane.text.json_splice import splice
from germane.types.message import Message, ToolResult

__all__ = ["MESSAGE_READERS"]


def _result(text: str) -> ToolResult:
    return ToolResult(call_id=text, text=json.dumps({"status": text[:1_000], "task_id": text[:1_000]}), name=text)


def _message(text: str) -> Message:
    return Message(role="tool", parts=(_result(text), ToolResult(call_id=text, text=text)))


def _masked(text: str) -> object:
    raws: tuple[dict[str, Any], ...] = (
        {"role": "tool", "tool_call_id": text, "content": text},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": text, "content": text}]},
        {"role": "user", "parts": [{"functionResponse": {"name": text, "response": {"output": text}}}]},
        {"type": "function_call_output", "call_id": text, "output": text},
    )
    return [one.mask(raw, {0: text}) for one, raw in zip(DIALECTS, raws, strict=False)]


def _replies(text: str) -> object:
    event = json.dumps({"index": 0, "delta": {"text": text}, "choices": [{"delta": {"content": text}}]})
    texts = (text, f"data: {text}\n\ndata: {event}\n\n" * 2)
    return [
        (read_reply(provider, one, events=events), reply_id(provider, one, events=events))
        for provider in ("openai", "openai-responses", "anthropic")
        for one in texts
        for events in (False, True)
    ]


def _copied(text: str) -> object:
    copy = AnswerCopy({"content-type": "text/event-stream"})
    copy.keep(f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n{text}".encode("utf-8", "surrogatepass"))
    return copy.read("openai")


def _deltas(text: str) -> object:
    """Streams of many events, each with a few characters, of three calls side by side."""
    pieces = [text[at : at + 16] for at in range(0, len(text), 16)]
    calls: list[Any] = [
        {"index": at % 3, "id": piece, "function": {"name": piece, "arguments": piece}} for at, piece in enumerate(pieces)
    ]
    chat: list[Any] = [{"choices": [{"delta": {"content": one["id"], "tool_calls": [one]}}]} for one in calls]
    chat.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    starts: list[Any] = [{"type": "content_block_start", "index": at, "content_block": {"type": "text"}} for at in range(3)]
    blocks = [{"index": at % 3, "delta": {"text": piece, "partial_json": piece}} for at, piece in enumerate(pieces)]
    items = [{"type": "response.output_text.delta", "output_index": at % 3, "delta": piece} for at, piece in enumerate(pieces)]
    streams: Mapping[str, list[Any]] = {"openai": chat, "anthropic": starts + blocks, "openai-responses": items}
    return [
        read_reply(api, "".join(f"data: {json.dumps(one)}\n\n" for one in events), events=True)
        for api, events in streams.items()
    ]


def _answers(text: str) -> object:
    """A whole copy, in an encoding that the text names and in one that is known."""
    copies = [AnswerCopy({"content-encoding": coding, "content-type": text}) for coding in (text, "gzip, deflate")]
    for copy in copies:
        copy.keep(text.encode(errors="replace"))
    return [copy.messages("openai") for copy in copies]


def _splice(text: str) -> object:
    """A body of this text as keys, as values and in many elements, with texts that are added to it, and elements that move."""
    pieces = [text[at : at + 16] for at in range(0, len(text), 16)]
    body = {
        "model": text,
        "messages": [{"role": "user", "content": piece} for piece in pieces],
        text[:1_000]: pieces,
        "x": [text],
    }
    original = json.dumps(body, ensure_ascii=False, indent=1).encode(errors="replace")
    value = json.loads(original)
    said = [one for each in value["messages"] for one in ({"role": "user", "content": "new"}, {**each, "content": [each]})]
    changed = value | {"messages": said, "x": [value["x"][0], *pieces[::-1]], "more": text}
    return splice(original, changed), splice(original, json.loads(json.dumps(changed)), before=value)


MESSAGE_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "dialects.edits.masked": lambda text: (_masked(text), masked(_message(text), {0: text}, "openai")),
        "dialects.answer_copy.AnswerCopy.read": _copied,
        "dialects.opaque.opaque": lambda text: opaque("document", {"title": text, "source": {"type": "text", "data": text}}),
        "dialects.answer_copy.AnswerCopy.messages": _answers,
        "dialects.answer_copy.decoded": lambda text: decoded(text.encode(errors="replace"), text, 1_000),
        "dialects.model_calls.ChangedBody.beta_header": lambda text: ChangedBody(
            fields={}, before={}, betas=("a", text)
        ).beta_header(text),
        "dialects.model_calls.read_call": lambda text: (
            read_call(text, {}),
            read_call("/v1/responses", json.dumps({"model": "m", "input": text}).encode()),
            read_call("/v1/messages", text.encode(errors="replace")),
        ),
        "dialects.replies.read_reply": _replies,
        "dialects.replies.reply_id": _replies,
        "dialects.replies.read_reply of many events": _deltas,
        "dialects.tool_state.result_state": lambda text: result_state(_result(text), _message(text)),
        "dialects.tool_state.waits_for_confirmation": lambda text: waits_for_confirmation(_message(text)),
        "text.json_splice.splice": _splice,
        "dialects.tool_state.unsettled": lambda text: unsettled([_message(text)], [_message(text)]),
    }
)
"""Functions by module and name."""
