"""Anthropic turns: what the Messages API demands of a whole turn: a server's call has its result, and thinking has a sequel.

A turn goes from a user's words to the next: the result of a server's tool stands in the same message as its call, or in a later
one of the turn. Only the last turn may be paused between the two. No turn of the assistant's ends in thinking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from germane.dialects.envelope import mapping
from germane.dialects.wording import call_as_text, json_text, result_as_text, sendable
from germane.types.message import ToolCall, ToolResult

__all__ = ["THINKING", "ends_in_thinking", "is_server_result", "lone_server_blocks", "mended"]

THINKING = ("thinking", "redacted_thinking")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_SHOWN = ("title", "url", "text", "stdout", "stderr", "error_code")
"""Fields of a server's result that hold words."""


def is_server_result(kind: object) -> bool:
    """Returns whether a block of this type holds what a server's tool has answered."""
    return isinstance(kind, str) and kind.endswith("_tool_result") and kind != "tool_result"


def lone_server_blocks(messages: Sequence[Mapping[str, Any]]) -> frozenset[tuple[int, int]]:
    """Returns the places, by message and block, of a server's calls without a result and of results without a call.
    Of two calls under one id the later one has the result."""
    lone: set[tuple[int, int]] = set()
    waiting: dict[object, tuple[int, int]] = {}
    for index, message in enumerate(messages):
        blocks = _blocks(message)
        if message.get("role") != "assistant":
            if any(block.get("type") != "tool_result" for block in blocks):
                lone.update(waiting.values())
                waiting = {}
            continue
        for place, block in enumerate(blocks):
            if block.get("type") in _SERVER_CALLS:
                if (repeated := waiting.pop(block.get("id"), None)) is not None:
                    lone.add(repeated)
                waiting[block.get("id")] = index, place
            elif is_server_result(block.get("type")) and waiting.pop(block.get("tool_use_id"), None) is None:
                lone.add((index, place))
    return frozenset(lone)


def ends_in_thinking(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Returns whether the message is the last one of a run of the assistant's, and its last block is thinking."""
    following = messages[index + 1].get("role") if index + 1 < len(messages) else None
    if messages[index].get("role") != "assistant" or following == "assistant":
        return False
    blocks = _blocks(messages[index])
    return bool(blocks) and blocks[-1].get("type") in THINKING


def mended(messages: Sequence[Any]) -> list[Any]:
    """Returns the messages with lone blocks of servers as text, and without thinking that nothing follows. Those that need no
    change are the same dicts."""
    lone = lone_server_blocks(messages)
    out = list(messages)
    for index in {index for index, _ in lone}:
        blocks = [_closed(block) if (index, n) in lone else block for n, block in enumerate(messages[index]["content"])]
        out[index] = {**messages[index], "content": blocks}
    for index in range(len(out) - 1, -1, -1):
        if ends_in_thinking(out, index):
            kept = list(out[index]["content"])
            while kept and (mapping(kept[-1]) or {}).get("type") in THINKING:
                kept.pop()
            out[index : index + 1] = [{**out[index], "content": kept}] if kept else []
    return out


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [mapping(block) or {} for block in content] if isinstance(content, list | tuple) else []


def _closed(block: Any) -> dict[str, Any]:
    fields = mapping(block) or {}
    name = str(fields.get("name") or "")
    if fields.get("type") in _SERVER_CALLS:
        text = call_as_text(ToolCall(id="", name=name, arguments=json_text(fields.get("input") or {})))
    else:
        name = str(fields.get("type")).removesuffix("_tool_result")
        text = result_as_text(ToolResult(call_id="", name=name, text="\n".join(_words(fields.get("content")))))
    return {"type": "text", "text": sendable(text)}


def _words(content: object) -> list[str]:
    """What can be read in a server's result: its text, or the fields with words of each thing that it found."""
    if isinstance(content, str):
        return [content]
    found = content if isinstance(content, list | tuple) else [content]
    fields = [mapping(each) or {} for each in found]
    return [str(each[key]) for each in fields for key in _SHOWN if isinstance(each.get(key), str) and each[key]]
