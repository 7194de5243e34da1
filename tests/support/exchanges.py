"""Exchanges: conversations with a tool call in each provider's shape, and a builder of requests from them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from germane.dialects.registry import parse_all
from germane.types.request import Request
from germane.types.scope import Scope

__all__ = ["CALL", "CLAUDE", "EXCHANGE", "GEMINI", "ITEMS", "request"]

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
EXCHANGE: list[dict[str, Any]] = [
    {"role": "user", "content": "first"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "42"},
]
CLAUDE: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "a", "content": "42"}, {"type": "text", "text": "and now?"}],
    },
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "go"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "42"}}}]},
    {"role": "model", "parts": [{"text": "42"}]},
    {"role": "user", "parts": [{"text": "and now?"}]},
]
ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "42"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and now?"}]},
]


def request(raw: list[Any], provider: str = "openai", tools: tuple[dict[str, Any], ...] = ()) -> Request:
    return Request(
        scope=Scope(),
        messages=parse_all(raw, provider),
        raw=tuple(raw),
        model="any",
        provider=provider,
        at=datetime(2024, 5, 1, tzinfo=UTC),
        tools=tools,
    )
