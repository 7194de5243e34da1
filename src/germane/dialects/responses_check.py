"""Responses check: the requests that OpenAI's Responses API would refuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from germane.dialects.envelope import mapping
from germane.dialects.fault import Fault
from germane.dialects.openai_check import FUNCTION
from germane.dialects.responses_items import OUTPUTS, ROLES, call_id, is_message
from germane.dialects.responses_pairing import MAX_ID, continues
from germane.types.message import Wire

__all__ = ["MESSAGE_KEYS", "faults", "part_fits"]

MESSAGE_KEYS = frozenset({"type", "role", "content", "id", "status", "phase"})
_INPUT = frozenset({"input_text", "input_image", "input_file", "input_audio"})
PARTS: Mapping[str, frozenset[str]] = {
    "user": _INPUT,
    "system": _INPUT,
    "developer": _INPUT,
    "assistant": frozenset({"output_text", "refusal"}),
}
"""The types of the parts that a message of each role may have."""
_FOREIGN = frozenset({"text", "image_url", "file", "image", "document", "thinking", "tool_use", "tool_result"})
"""Types of parts that other dialects have."""
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "function_call": ("call_id", "name", "arguments"),
    "custom_tool_call": ("call_id", "name", "input"),
    "function_call_output": ("call_id",),
    "custom_tool_call_output": ("call_id",),
}
_CALLS = {output: call for call, output in OUTPUTS.items()}


def part_fits(kind: object, role: str) -> bool:
    """Returns whether a part of this type, perhaps a later one, may stand in a message of this role."""
    if not isinstance(kind, str):
        return False
    known = any(kind in kinds for kinds in PARTS.values())
    return kind not in _FOREIGN and (not known or kind in PARTS.get(role, ()))


_UNFOLLOWED = "reasoning without the item that follows from it"


def faults(wire: Wire) -> Iterator[Fault]:
    """Yields the reasons for which the API would refuse the request."""
    if not wire.messages:
        yield Fault("no-messages", None, "no input")
    if wire.system is not None and not (isinstance(wire.system, str) and wire.system.strip()):
        yield Fault("system-empty", None, "instructions aren't text, or empty")
    unseen = continues([_kind(item) for item in wire.messages])
    waiting: dict[str, tuple[str, int]] = {}
    used: set[str] = set()
    named: set[str] = set()
    reasoning: int | None = None
    for index, item in enumerate(wire.messages):
        kind = _kind(item)
        if reasoning is not None and kind != "reasoning":
            if not _is_the_models(item, kind):
                yield Fault("reasoning-alone", reasoning, f"item {reasoning}: {_UNFOLLOWED}")
            reasoning = None
        for rule, text in _item(item, kind):
            yield Fault(rule, index, f"item {index}: {text}")
        own, id = item.get("id"), call_id(item)
        if isinstance(own, str) and own and kind != "local_shell_call_output":
            if own in named:
                yield Fault("duplicate-item-id", index, f"item {index}: an item's id used twice: {own!r}")
            named.add(own)
        if kind == "reasoning":
            reasoning = index
        elif kind in OUTPUTS:
            if id in used:
                yield Fault("duplicate-call-id", index, f"item {index}: a call's id used twice: {id!r}")
            used.add(id)
            waiting[id] = kind, index
        elif kind in _CALLS and waiting.pop(id, ("", 0))[0] != _CALLS[kind] and not (unseen and id not in used):
            yield Fault("result-without-call", index, f"item {index}: an output without its call: {id!r}")
    if reasoning is not None:
        yield Fault("reasoning-alone", reasoning, f"item {reasoning}: {_UNFOLLOWED}")
    for id, (_, index) in waiting.items():
        yield Fault("call-without-result", index, f"item {index}: a call without an output: {id!r}")


def _kind(item: Mapping[str, Any]) -> str:
    """Returns the item's type, for a message its role."""
    if is_message(item):
        return str(item.get("role"))
    return str(item.get("type") or "item_reference")


def _is_the_models(item: Mapping[str, Any], kind: str) -> bool:
    """Returns whether reasoning may stand before the item."""
    return kind == "assistant" or not (is_message(item) or kind in _CALLS)


def _item(item: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    if is_message(item):
        yield from _message(item)
        return
    if item.get("type") is None and set(item) != {"id"}:
        yield "item-type", "neither a role nor a type"
    for key in _REQUIRED.get(kind, ()):
        if not isinstance(item.get(key), str):
            yield "item-field", f"{kind} without {key} as text"
    if kind in _REQUIRED and not 0 < len(call_id(item)) <= MAX_ID:
        yield "call-id", f"{kind}: call_id isn't of the form the API takes"
    if kind == "function_call" and not FUNCTION.fullmatch(str(item.get("name"))):
        yield "call-name", "function_call: the name isn't of the form the API takes"
    if kind == "function_call_output" and not isinstance(item.get("output"), str | list | tuple):
        yield "content-type", "function_call_output: the output is neither text nor parts"
    if kind == "item_reference" and not isinstance(item.get("id"), str):
        yield "item-field", "item_reference without id"
    if kind == "compaction" and not isinstance(item.get("encrypted_content"), str):
        yield "item-field", "compaction without its encrypted content"


def _message(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        yield "role", f"unknown role {role!r}"
        return
    if item.get("type") in (None, "message"):
        for key in item:
            if key not in MESSAGE_KEYS:
                yield "key", f"unknown key {key!r}"
    if isinstance(content, list | tuple):
        if not content:
            yield "no-content", "content is an empty list"
        for part in map(mapping, content):
            kind = (part or {}).get("type")
            if part is None or not part_fits(kind, str(role)):
                yield "part-type", f"a part of type {kind!r} can't stand in a message of role {role}"
            elif kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
                yield "part-shape", "a text part without text"
            elif kind == "input_image" and not (part.get("image_url") or part.get("file_id")):
                yield "part-shape", "an image without image_url or file_id"
    elif content is None:
        yield "no-content", "content is NoneType"
    elif not isinstance(content, str):
        yield "content-type", f"content is {type(content).__name__}"
