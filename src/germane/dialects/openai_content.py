"""OpenAI content: reads content as both of OpenAI's APIs write it, and the input items of the Responses API."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from germane.dialects.fields import json_text, mapping, type_name
from germane.dialects.media import data_url, image_size
from germane.dialects.opaque import as_result, opaque
from germane.errors import InvalidInput
from germane.types.message import Image, Part, Role, Text, ToolCall, ToolResult

_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_NAMING = ("role", "name", "function_call", "audio")
"""Keys of which a joined answer has the first one's."""
_IMAGES = ("image_url", "input_image", "computer_screenshot")


def has_part(content: object, kinds: Collection[str]) -> bool:
    """Returns whether `content` is a list of parts with one of these types."""
    parts = content if isinstance(content, list | tuple) else ()
    named = (part.get("type") for part in parts if isinstance(part, Mapping))
    return any(isinstance(kind, str) and kind in kinds for kind in named)


def read_content(content: object) -> tuple[Part, ...]:
    """Reads a string or a list of parts. Refusals are text; a part of an unknown type is opaque. Raises `InvalidInput` naming
    the part that can't be read."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if content is None:
        return ()
    if not isinstance(content, list | tuple):
        raise InvalidInput(f"is {type_name(content)}", path="content", advice="give a string, a list of parts or None")
    return tuple(_read_part(part, index) for index, part in enumerate(content))


def joined_answers(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns several answers of the assistant's as one: with the content and the calls of all, and all keys that gateways add.
    None of them is changed."""
    held: dict[str, list[Any]] = {}
    for answer in answers:
        for key, value in answer.items():
            held.setdefault(key, []).append(value)
    return {key: values[0] if key in _NAMING else _joined(values) for key, values in held.items()}


def _joined(values: Sequence[Any]) -> Any:
    """The texts one below the other, or all items; the first value where these are neither texts nor lists."""
    full = [value for value in values if value not in (None, "", [], ())]
    if len(full) < 2:
        return full[0] if full else values[0]
    if all(isinstance(value, str) for value in full):
        return "\n\n".join(full)
    if all(isinstance(value, list | tuple | str) for value in full):
        return [part for value in full for part in _as_parts(value)]
    return full[0]


def _as_parts(content: str | Sequence[Any]) -> Sequence[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _read_part(value: object, index: int) -> Part:
    if isinstance(value, str):
        return Text(value)
    raw = mapping(value)
    if raw is None:
        raise InvalidInput(f"is {type_name(value)}", path=f"content[{index}]", advice="give a mapping with a type")
    kind = raw.get("type")
    if kind in _TEXTS or kind == "refusal":
        text = raw.get("refusal" if kind == "refusal" else "text")
        if not isinstance(text, str):
            raise InvalidInput(
                f"is {type_name(text)}",
                path=f"content[{index}].{'refusal' if kind == 'refusal' else 'text'}",
                advice="give a string",
            )
        return Text(text)
    if kind in _IMAGES:
        return _read_image(raw, index)
    return opaque(f"openai:{str(kind)[:40]}", raw)


def _read_image(raw: Mapping[str, Any], index: int) -> Image:
    """The chat API has url and detail in an object of their own; an image of the Responses API may be a file without a url."""
    source = raw.get("image_url")
    inner = mapping(source) or {}
    url = source if isinstance(source, str) else inner.get("url")
    url = url if isinstance(url, str) and url else None
    if url is None and raw.get("type") == "image_url":
        raise InvalidInput("lacks its url", path=f"content[{index}].image_url")
    inline = data_url(url) if url else None
    width, height = (image_size(inline[1]) if inline else None) or (None, None)
    detail = inner.get("detail", raw.get("detail"))
    return Image(width=width, height=height, detail=detail if isinstance(detail, str) else "auto", url=url, raw=raw)


# The kinds of input items of the Responses API, and how their parts are read.


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
