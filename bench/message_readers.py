"""Message readers: the functions that read tool results and provider's own items, for `bench/linear.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from germane.dialects.answer_copy import AnswerCopy
from germane.dialects.edits import masked
from germane.dialects.opaque import opaque
from germane.dialects.registry import DIALECTS
from germane.dialects.replies import read_reply, reply_id
from germane.dialects.tool_state import result_state, unsettled, waits_for_confirmation
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


MESSAGE_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "dialects.edits.masked": lambda text: (_masked(text), masked(_message(text), {0: text}, "openai")),
        "dialects.answer_copy.AnswerCopy.read": _copied,
        "dialects.opaque.opaque": lambda text: opaque("document", {"title": text, "source": {"type": "text", "data": text}}),
        "dialects.replies.read_reply": _replies,
        "dialects.replies.reply_id": _replies,
        "dialects.tool_state.result_state": lambda text: result_state(_result(text), _message(text)),
        "dialects.tool_state.waits_for_confirmation": lambda text: waits_for_confirmation(_message(text)),
        "dialects.tool_state.unsettled": lambda text: unsettled([_message(text)], [_message(text)]),
    }
)
"""Functions by module and name."""
