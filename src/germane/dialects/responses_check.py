"""Responses check: the requests that OpenAI's Responses API would refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from germane.dialects.envelope import mapping
from germane.dialects.openai_check import FUNCTION
from germane.dialects.responses_items import OUTPUTS, ROLES, call_id, is_message
from germane.dialects.responses_pairing import MAX_ID, continues
from germane.types.message import Wire

__all__ = ["MESSAGE_KEYS", "PARTS", "problems"]

MESSAGE_KEYS = frozenset({"type", "role", "content", "id", "status", "phase"})
_INPUT = frozenset({"input_text", "input_image", "input_file", "input_audio"})
PARTS: Mapping[str, frozenset[str]] = {
    "user": _INPUT,
    "system": _INPUT,
    "developer": _INPUT,
    "assistant": frozenset({"output_text", "refusal"}),
}
"""The types of the parts that a message of each role may have."""
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "function_call": ("call_id", "name", "arguments"),
    "custom_tool_call": ("call_id", "name", "input"),
    "function_call_output": ("call_id",),
    "custom_tool_call_output": ("call_id",),
}
_CALLS = {output: call for call, output in OUTPUTS.items()}


def problems(wire: Wire) -> tuple[str, ...]:
    """See `Dialect.problems`."""
    found: list[str] = []
    if not wire.messages:
        found.append("no input")
    if wire.system is not None and not (isinstance(wire.system, str) and wire.system.strip()):
        found.append("instructions aren't text, or empty")
    unseen = continues([_kind(item) for item in wire.messages])
    waiting: dict[str, str] = {}
    used: set[str] = set()
    reasoning: int | None = None
    for index, item in enumerate(wire.messages):
        kind = _kind(item)
        if reasoning is not None and kind != "reasoning":
            if not _is_the_models(item, kind):
                found.append(f"item {reasoning}: reasoning without the item that follows from it")
            reasoning = None
        found += (f"item {index}: {problem}" for problem in _item(item, kind))
        id = call_id(item)
        if kind == "reasoning":
            reasoning = index
        elif kind in OUTPUTS:
            if id in used:
                found.append(f"item {index}: a call's id used twice: {id!r}")
            used.add(id)
            waiting[id] = kind
        elif kind in _CALLS and waiting.pop(id, None) != _CALLS[kind] and not (unseen and id not in used):
            found.append(f"item {index}: an output without its call: {id!r}")
    if reasoning is not None:
        found.append(f"item {reasoning}: reasoning without the item that follows from it")
    found += (f"a call without an output: {id!r}" for id in waiting)
    return tuple(found)


def _kind(item: Mapping[str, Any]) -> str:
    """Returns the item's type, for a message its role."""
    if is_message(item):
        return str(item.get("role"))
    return str(item.get("type") or "item_reference")


def _is_the_models(item: Mapping[str, Any], kind: str) -> bool:
    """Returns whether reasoning may stand before the item."""
    return kind == "assistant" or not (is_message(item) or kind in _CALLS)


def _item(item: Mapping[str, Any], kind: str) -> Iterable[str]:
    if is_message(item):
        yield from _message(item)
        return
    if item.get("type") is None and set(item) != {"id"}:
        yield "neither a role nor a type"
    for key in _REQUIRED.get(kind, ()):
        if not isinstance(item.get(key), str):
            yield f"{kind} without {key} as text"
    if kind in _REQUIRED and not 0 < len(call_id(item)) <= MAX_ID:
        yield f"{kind}: call_id isn't of the form the API takes"
    if kind == "function_call" and not FUNCTION.fullmatch(str(item.get("name"))):
        yield "function_call: the name isn't of the form the API takes"
    if kind == "function_call_output" and not isinstance(item.get("output"), str | list | tuple):
        yield "function_call_output: the output is neither text nor parts"
    if kind == "item_reference" and not isinstance(item.get("id"), str):
        yield "item_reference without id"


def _message(item: Mapping[str, Any]) -> Iterable[str]:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        yield f"unknown role {role!r}"
        return
    if item.get("type") in (None, "message"):
        yield from (f"unknown key {key!r}" for key in item if key not in MESSAGE_KEYS)
    if isinstance(content, list | tuple):
        if not content:
            yield "content is an empty list"
        for part in map(mapping, content):
            kind = (part or {}).get("type")
            if part is None or kind not in PARTS[str(role)]:
                yield f"a part of type {kind!r} can't stand in a message of role {role}"
            elif kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
                yield "a text part without text"
            elif kind == "input_image" and not (part.get("image_url") or part.get("file_id")):
                yield "an image without image_url or file_id"
    elif not isinstance(content, str):
        yield f"content is {type(content).__name__}"
