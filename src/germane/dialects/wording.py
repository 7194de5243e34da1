"""Wording: texts in place of parts that a provider can't accept, and cleaning of text, names and arguments."""

from __future__ import annotations

import json
import re
from typing import Any

from germane.types.message import Image, ToolCall, ToolResult

__all__ = ["START", "call_as_text", "image_note", "json_object", "json_text", "result_as_text", "sendable", "tool_name"]

START = "[Conversation start]"
"""The user's message in front of a conversation that would begin with the model's."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def sendable(text: str) -> str:
    """Returns `text` with each lone surrogate, which JSON can't carry, replaced by U+FFFD."""
    try:
        text.encode()  # ten times faster than searching for surrogates
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def call_as_text(call: ToolCall) -> str:
    """Returns an orphaned call as text: no provider accepts a call without its result."""
    return f"[Tool call without a result: {call.name or 'unknown tool'}({call.arguments})]"


def result_as_text(result: ToolResult) -> str:
    """Returns an orphaned result as text: no provider accepts a result without its call."""
    return f"[Tool result{f' of {result.name}' if result.name else ''}: {result.text}]"


def image_note(image: Image) -> str:
    """Returns a text for an image that the provider can't accept: its address, unless that is a data URL."""
    return f"[image: {image.url}]" if image.url and not image.url.startswith("data:") else "[image]"


def tool_name(name: str, max_chars: int = 64) -> str:
    """Returns a tool's name as every provider accepts it: letters, digits, `_` and `-`, beginning with a letter or `_`."""
    fit = _UNFIT.sub("_", name) or "tool"
    return (fit if fit[0].isalpha() or fit[0] == "_" else f"_{fit}")[:max_chars]


def json_object(text: str) -> dict[str, Any]:
    """Returns arguments as an object. Text that isn't a JSON object is put under the key `arguments`."""
    try:
        value = json.loads(text or "{}", parse_constant=str)
    except (ValueError, RecursionError):
        return {"arguments": sendable(text)}
    return value if isinstance(value, dict) else {"arguments": value}


def json_text(value: object) -> str:
    """Returns `value` as JSON; a string is taken to be JSON already and returned unchanged."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(value)[:100_000]
