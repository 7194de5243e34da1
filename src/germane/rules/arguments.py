"""Arguments of a call: the arguments that a model wrote as JSON, read so that no two readers can disagree about them."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from germane.rules.strict_json import strict_json
from germane.types.message import ToolCall

__all__ = ["digest_of_call", "read_arguments"]


def read_arguments(call: ToolCall) -> dict[str, Any] | None:
    """Returns the arguments as an object. None for text that isn't a JSON object, and for one that has a key twice: which of
    the two a tool would take isn't known."""
    try:
        value = strict_json(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def digest_of_call(call: ToolCall) -> str:
    """Returns the SHA-256 (hex) of the tool's name and its arguments. The order of keys and white space don't matter."""
    arguments = read_arguments(call)
    try:
        text = f"text:{call.arguments}" if arguments is None else f"json:{json.dumps(arguments, sort_keys=True)}"
    except RecursionError:
        text = f"text:{call.arguments}"
    name = call.name.encode("utf-8", "surrogatepass")
    return sha256(len(name).to_bytes(8, "big") + name + text.encode("utf-8", "surrogatepass")).hexdigest()
