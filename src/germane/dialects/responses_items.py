"""Responses items: the kinds of input items of OpenAI's Responses API, and how their parts are read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from germane.dialects.envelope import mapping
from germane.dialects.held_text import as_result, opaque
from germane.dialects.openai_content import read_content
from germane.dialects.wording import json_text
from germane.types.message import Part, Role, Text, ToolCall, ToolResult

__all__ = ["KIND", "OUTPUTS", "OWN_PARTS", "ROLES", "call_id", "is_message", "known_item", "masked_item", "read_item"]

KIND = "openai-responses:"
"""What the `kind` of an item begins with that germane passes on unread."""
ROLES: Mapping[str, Role] = MappingProxyType(
    {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
)
OUTPUTS: Mapping[str, str] = MappingProxyType(
    {
        f"{kind}_call": f"{kind}_call_output"
        for kind in ("function", "custom_tool", "computer", "local_shell", "shell", "apply_patch")
    }
)
"""Calls that need an output of the caller's, with the type of that output."""
OWN_PARTS = ("input_text", "output_text", "input_image", "input_file")
_CALLS_OF_OUTPUTS = {output: call for call, output in OUTPUTS.items()}
_OTHERS = frozenset(
    {
        "additional_tools",
        "code_interpreter_call",
        "compaction",
        "compaction_trigger",
        "item_reference",
        "program",
        "program_output",
        "reasoning",
        "tool_search_output",
    }
)
_ASKED = ("action", "actions", "operation")
"""Keys under which the built-in tools' calls hold what they ask for."""


def is_message(raw: Mapping[str, Any]) -> bool:
    """Returns whether the item is a message: of that type, or without a type and with a role."""
    kind = raw.get("type")
    return kind == "message" or (isinstance(raw.get("role"), str) and not (isinstance(kind, str) and known_item(kind)))


def known_item(kind: str) -> bool:
    """Returns whether `kind` is the type of an item that only this API has, or looks like a later one's."""
    return kind in _OTHERS or kind.startswith("mcp_") or kind.endswith(("_call", "_call_output"))


def call_id(raw: Mapping[str, Any]) -> str:
    """Returns the id that pairs a call and its output; '' where there is none."""
    found = raw.get("call_id", raw.get("id") if raw.get("type") == "local_shell_call_output" else None)
    return found if isinstance(found, str) else ""


def read_item(raw: Mapping[str, Any]) -> tuple[Role, tuple[Part, ...]]:
    """Reads an item that isn't a message. What germane doesn't read becomes an opaque part of the assistant's."""
    kind = raw.get("type")
    kind = kind if isinstance(kind, str) else "item_reference"
    if kind in OUTPUTS:
        return "assistant", (ToolCall(id=call_id(raw), name=_name(raw, kind), arguments=_arguments(raw, kind)),)
    if kind in _CALLS_OF_OUTPUTS:
        inner = _output(raw.get("output"))
        text, others = as_result(inner)
        failed = raw.get("status") in ("failed", "incomplete")
        result = ToolResult(call_id=call_id(raw), text=text, error=failed)
        return "tool", (result, *others)
    return "assistant", (opaque(f"{KIND}{kind[:40]}", raw),)


def masked_item(raw: Mapping[str, Any], line: str) -> Mapping[str, Any]:
    """Returns a copy of a call's output that holds only the line; another item, and a screenshot, is returned as it is: the API
    takes an image there and nothing else."""
    kind = raw.get("type")
    if kind == "shell_call_output":
        runs = raw.get("output")
        first = mapping(runs[0]) if isinstance(runs, list | tuple) and runs else None
        outcome = (first or {}).get("outcome") or {"type": "exit", "exit_code": 0}
        return {**raw, "output": [{"stdout": line, "stderr": "", "outcome": outcome}]}
    if kind not in _CALLS_OF_OUTPUTS or kind == "computer_call_output":
        return raw
    return {**raw, "output": line}


def _output(output: object) -> tuple[Part, ...]:
    """Reads the output of a call: text, a list of parts, a screenshot, or another object, which is read as JSON."""
    single = mapping(output)
    if single is not None:
        return read_content([single]) if single.get("type") == "computer_screenshot" else (Text(json_text(single)),)
    if isinstance(output, list | tuple) and not all((mapping(each) or {}).get("type") for each in output):
        return (Text(json_text(output)),)
    return read_content(output if output is None or isinstance(output, list | tuple | str) else json_text(output))


def _name(raw: Mapping[str, Any], kind: str) -> str:
    name = raw.get("name")
    return name if isinstance(name, str) and name else kind.removesuffix("_call")


def _arguments(raw: Mapping[str, Any], kind: str) -> str:
    if kind == "function_call":
        return json_text("{}" if raw.get("arguments") is None else raw["arguments"])
    if kind == "custom_tool_call":
        return json_text({"input": raw.get("input")})
    return json_text(next((raw[key] for key in _ASKED if raw.get(key) is not None), {}))
