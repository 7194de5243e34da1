"""Anthropic check: the requests that the Messages API would refuse, and counting of prompt-cache marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from germane.dialects.envelope import mapping
from germane.types.message import Wire

__all__ = ["ASSISTANT_ONLY", "BREAKPOINTS", "ID", "NAME", "USER_ONLY", "blank", "breakpoints", "may_stand", "problems"]

BREAKPOINTS = 4
"""Maximum number of `cache_control` marks in one request."""
ID = re.compile(r"[a-zA-Z0-9_-]{1,128}")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
USER_ONLY = ("image", "document", "tool_result", "search_result", "container_upload")
ASSISTANT_ONLY = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")
_FOREIGN = frozenset({"image_url", "input_audio", "file", "refusal", "input_text", "output_text", "input_image", "input_file"})


def blank(text: object) -> bool:
    """Returns whether `text` is no string, empty or only white space."""
    return not isinstance(text, str) or not text or text.isspace()


def breakpoints(messages: Iterable[Mapping[str, Any] | None], tools: Sequence[Mapping[str, Any]]) -> int:
    """Returns the number of `cache_control` marks the caller has set: on blocks, also inside tool results, and on tools."""
    return sum("cache_control" in tool for tool in tools) + sum(map(_marks, messages))


def _marks(holder: Mapping[str, Any] | None) -> int:
    content = (holder or {}).get("content")
    blocks = [mapping(block) for block in content] if isinstance(content, list | tuple) else []
    return sum(("cache_control" in block) + _marks(block) for block in blocks if block)


def may_stand(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Returns whether a system message may stand there: behind a user's message, as the last one or before the assistant's."""
    if not index or messages[index - 1].get("role") != "user":
        return False
    return index == len(messages) - 1 or messages[index + 1].get("role") == "assistant"


def problems(wire: Wire) -> tuple[str, ...]:
    """See `Dialect.problems`."""
    found: list[str] = list(_system(wire.system))
    if not wire.messages:
        found.append("no messages")
    elif wire.messages[0].get("role") != "user":
        found.append("the first message isn't the user's")
    system = wire.system if isinstance(wire.system, list) else []
    if (marks := breakpoints([{"content": system}, *wire.messages], ())) > BREAKPOINTS:
        found.append(f"{marks} cache_control marks, {BREAKPOINTS} at most")
    waiting: set[str] = set()
    seen: set[str] = set()
    last = len(wire.messages) - 1
    for index, message in enumerate(wire.messages):
        role = message.get("role")
        if role == "system":
            if not may_stand(wire.messages, index):
                found.append(f"message {index}: a system message can't stand there")
            parts = content if isinstance(content := message.get("content"), list | tuple) else ()
            if any((mapping(block) or {}).get("type") != "text" for block in parts):
                found.append(f"message {index}: a system message holds text only")
        elif role not in ("user", "assistant"):
            found.append(f"message {index}: unknown role {role!r}")
        found += (f"message {index}: unknown key {key!r}" for key in message if key not in ("role", "content"))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list | tuple) or (not blocks and not (index == last and role == "assistant")):
            found.append(f"message {index}: no content")
            blocks = ()
        read = [mapping(block) or {} for block in blocks]
        found += (f"message {index}: {problem}" for block in read for problem in _block(block, role, index == last))
        answered = [block.get("tool_use_id") for block in read if block.get("type") == "tool_result"]
        if set(answered) != waiting or len(answered) != len(waiting):
            found.append(f"message {index}: tool results {answered} for the tool calls {sorted(waiting)} right before")
        if any(block.get("type") == "tool_result" for block in read[len(answered) :]):
            found.append(f"message {index}: tool results after other blocks")
        calls = [str(block.get("id")) for block in read if block.get("type") == "tool_use"]
        if seen & set(calls) or len(set(calls)) < len(calls):
            found.append(f"message {index}: a tool call's id used twice")
        seen |= set(calls)
        waiting = set(calls)
        if (
            index == last
            and role == "assistant"
            and read
            and str(read[-1].get("text", "")) != str(read[-1].get("text", "")).rstrip()
        ):
            found.append(f"message {index}: the last words end in white space")
    if waiting:
        found.append(f"tool calls at the end without a result: {sorted(waiting)}")
    return tuple(found)


def _block(block: Mapping[str, Any], role: object, last: bool) -> Iterable[str]:
    kind = block.get("type")
    if not isinstance(kind, str) or kind in _FOREIGN:
        yield f"no block the API knows: {kind!r}"
    elif (kind in USER_ONLY and role != "user") or (kind in ASSISTANT_ONLY and role != "assistant"):
        yield f"a block of type {kind} can't stand in a message of role {role}"
    if kind == "text" and blank(block.get("text")) and not (last and role == "assistant" and block.get("text") == ""):
        yield "an empty text"
    elif kind == "tool_use":
        if not (ID.fullmatch(str(block.get("id", ""))) and NAME.fullmatch(str(block.get("name", "")))):
            yield f"tool call {block.get('id')!r}: id or name isn't of the form the API takes"
        if not isinstance(block.get("input"), Mapping):
            yield f"tool call {block.get('id')!r}: input is no object"
    elif kind == "tool_result" and not isinstance(block.get("content", ""), str | list | tuple):
        yield f"tool result {block.get('tool_use_id')!r}: content is neither text nor blocks"
    elif kind == "image":
        source = mapping(block.get("source")) or {}
        known = source.get("type") in ("base64", "url", "file")
        if not known or (source["type"] == "base64" and not str(source.get("media_type")).startswith("image/")):
            yield "an image without a source the API can read"


def _system(system: str | list[dict[str, Any]] | None) -> Iterable[str]:
    if isinstance(system, str) and blank(system):
        yield "system is empty"
    elif isinstance(system, list):
        if not system:
            yield "system is an empty list"
        for block in system:
            if block.get("type") != "text" or blank(block.get("text")):
                yield "a block of system that isn't text, or empty"
