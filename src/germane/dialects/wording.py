"""Wording: what stands in for what a provider can't carry, and text made fit to send."""

from __future__ import annotations

import json
import re
from typing import Any

from germane.types.message import Image, ToolCall, ToolResult

__all__ = ["START", "closed_call", "closed_result", "image_note", "json_object", "json_text", "sendable", "tool_name"]

START = "[Conversation start]"
"""The user turn put before a conversation that begins with the model's."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def sendable(text: str) -> str:
    """`text` without lone surrogates, which no provider's JSON takes; each becomes U+FFFD."""
    try:
        text.encode()  # ten times quicker than a search
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def closed_call(call: ToolCall) -> str:
    return f"[Tool call without a result: {call.name or 'unknown tool'}({call.arguments})]"


def closed_result(result: ToolResult) -> str:
    """A result whose call is gone, as text: no provider takes one without the other."""
    return f"[Tool result{f' of {result.name}' if result.name else ''}: {result.text}]"


def image_note(image: Image) -> str:
    """An image the provider can't take: where it was, for what it is worth to the model."""
    return f"[image: {image.url}]" if image.url and not image.url.startswith("data:") else "[image]"


def tool_name(name: str, longest: int = 64) -> str:
    """A tool's name as every provider takes it: letters, digits, `_` and `-`, beginning with a letter or `_`."""
    fit = _UNFIT.sub("_", name) or "tool"
    return (fit if fit[0].isalpha() or fit[0] == "_" else f"_{fit}")[:longest]


def json_object(text: str) -> dict[str, Any]:
    """Arguments as an object. What the model wrote that is none comes under the key `arguments`, as it is."""
    try:
        value = json.loads(text or "{}", parse_constant=str)
    except (ValueError, RecursionError):
        return {"arguments": sendable(text)}
    return value if isinstance(value, dict) else {"arguments": value}


def json_text(value: object) -> str:
    """`value` as JSON text; a string is taken to be that already."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(value)[:100_000]
