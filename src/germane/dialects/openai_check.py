"""OpenAI check: the requests that the chat completions API would refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from germane.dialects.anthropic_check import is_own
from germane.dialects.envelope import mapping
from germane.dialects.fault import Fault
from germane.types.message import Wire

__all__ = ["FUNCTION", "MESSAGE_KEYS", "NAME", "faults"]

NAME = re.compile(r"[^\s<|\\/>\ud800-\udfff]{1,64}")
FUNCTION = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_PARTS: Mapping[str, frozenset[str]] = {
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text", "image_url", "input_audio", "file"}),
}
"""The parts of each role; gateways take those of the user's in results too."""
_TEXT_ONLY = frozenset({"text"})
MESSAGE_KEYS = ("role", "content", "id", "name", "created_at")
"""Keys of any message; the assistant's may have others in place of content, such as calls, or a gateway's reasoning."""
_OF_OTHERS = frozenset({"input_text", "output_text", "input_image", "input_file"})
"""Types of parts that other APIs have, beside Anthropic's."""


def faults(wire: Wire) -> Iterator[Fault]:
    """Yields the reasons for which the API would refuse the request."""
    if not wire.messages:
        yield Fault("no-messages", None, "no messages")
    if wire.system is not None:
        yield Fault("system-place", None, "system stands apart: it belongs among the messages")
    waiting: set[str] = set()
    for index, message in enumerate(wire.messages):
        role = message.get("role")
        if role != "tool" and waiting:
            text = f"message {index}: tool calls before it without a result: {sorted(waiting)}"
            yield Fault("call-without-result", index, text)
            waiting = set()
        if role not in _ROLES:
            yield Fault("role", index, f"message {index}: unknown role {role!r}")
            continue
        for rule, text in _envelope(message, role):
            yield Fault(rule, index, f"message {index}: {text}")
        if role == "tool":
            if (id := message.get("tool_call_id")) in waiting:
                waiting.discard(id)
            else:
                text = f"message {index}: tool result without its call right before: {id!r}"
                yield Fault("result-without-call", index, text)
        if role == "assistant" and "tool_calls" in message:
            waiting, wrong = _calls(message["tool_calls"])
            for rule, text in wrong:
                yield Fault(rule, index, f"message {index}: {text}")
    if waiting:
        yield Fault("call-without-result", None, f"tool calls at the end without a result: {sorted(waiting)}")


def _envelope(message: Mapping[str, Any], role: str) -> Iterator[tuple[str, str]]:
    """Yields a rule and a sentence for each fault of the message in itself."""
    for key in ("id", "created_at"):
        if key in message:
            yield "key", f"unknown key {key!r}"
    if role != "assistant" and "tool_calls" in message:
        yield "call-place", f"tool calls can't stand in a message of role {role}"
    name = message.get("name")
    if name is not None and not (isinstance(name, str) and NAME.fullmatch(name)):
        yield "name", "name isn't of the form the API takes"
    yield from _content(message, role)


def _content(message: Mapping[str, Any], role: str) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    if content is None:
        if role != "assistant" or not any(message[key] for key in message if key not in MESSAGE_KEYS):
            yield "no-content", "no content"
    elif isinstance(content, list | tuple):
        if not content:
            yield "no-content", "content is an empty list"
        allowed = _PARTS.get(role, _TEXT_ONLY)
        for part in map(mapping, content):
            if part is None or not _may_stand(part, allowed):
                yield "part-type", f"a part of type {part and part.get('type')!r} can't stand in a message of role {role}"
            elif part["type"] == "text" and not isinstance(part.get("text"), str):
                yield "part-shape", "a text part without text"
            elif part["type"] == "image_url":
                held = part.get("image_url")
                url = held if isinstance(held, str) else (mapping(held) or {}).get("url")
                if not isinstance(url, str) or not url.startswith(("data:image/", "https://", "http://")):
                    yield "part-shape", "an image without a URL the API can read"
    elif not isinstance(content, str):
        yield "content-type", f"content is {type(content).__name__}"


def _may_stand(part: Mapping[str, Any], allowed: frozenset[str]) -> bool:
    """Returns whether the part may stand in a message with these of OpenAI's parts. A part of an unknown type may: gateways
    take more than OpenAI does."""
    kind = part.get("type")
    known = any(kind in kinds for kinds in _PARTS.values()) or kind in _OF_OTHERS
    return isinstance(kind, str) and (kind in allowed or not (known or is_own(part)))


def _calls(calls: Any) -> tuple[set[str], list[tuple[str, str]]]:
    ids: set[str] = set()
    wrong: list[tuple[str, str]] = [] if calls else [("no-calls", "tool_calls is empty")]
    for call in map(mapping, calls or ()):
        id = (call or {}).get("id")
        if call is None or not isinstance(id, str) or not 0 < len(id) <= 40:
            wrong.append(("call-id", f"a tool call without a fitting id: {id!r}"))
            continue
        if id in ids:
            wrong.append(("duplicate-call-id", f"two tool calls with the id {id!r}"))
        ids.add(id)
        if call.get("type", "function") == "function":
            function = mapping(call.get("function")) or {}
            if not FUNCTION.fullmatch(str(function.get("name", ""))):
                wrong.append(("call-name", f"tool call {id!r}: the function's name isn't of the form the API takes"))
            if not isinstance(function.get("arguments"), str):
                wrong.append(("arguments", f"tool call {id!r}: arguments aren't text"))
    return ids, wrong
