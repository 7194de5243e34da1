"""Anthropic check: the requests that the Messages API would refuse, its cache marks, and the rules of whole turns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from germane.dialects.dialect import Fault
from germane.dialects.fields import call_as_text, json_text, mapping, result_as_text
from germane.text.normal import valid_unicode
from germane.types.message import ToolCall, ToolResult, Wire

BREAKPOINTS = 4
"""Maximum number of `cache_control` marks in one request."""
ID = re.compile(r"[a-zA-Z0-9_-]{1,128}")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_USER_ONLY = ("image", "document", "tool_result", "search_result", "container_upload")
_ASSISTANT_ONLY = ("tool_use", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "compaction", "fallback")
_FOREIGN = frozenset({"image_url", "input_audio", "file", "refusal", "input_text", "output_text", "input_image", "input_file"})


def blank(text: object) -> bool:
    """Returns whether `text` is no string, empty or only white space."""
    return not isinstance(text, str) or not text or text.isspace()


def is_own(block: Mapping[str, Any]) -> bool:
    """Returns whether only this API has such a block. Gateways to the chat API take parts with the same names, but they hold
    thinking without a signature, and images and documents without a source."""
    kind = block.get("type")
    if kind == "thinking":
        return isinstance(block.get("thinking"), str) and "signature" in block
    if kind in ("image", "document"):
        return mapping(block.get("source")) is not None
    return kind in _USER_ONLY or kind in _ASSISTANT_ONLY or is_server_result(kind)


def breakpoints(messages: Iterable[Mapping[str, Any] | None], tools: Sequence[Mapping[str, Any]]) -> int:
    """Returns the number of `cache_control` marks the caller has set: on blocks, also inside tool results, and on tools."""
    return sum("cache_control" in tool for tool in tools) + sum(map(_marks, messages))


def _marks(holder: Mapping[str, Any] | None) -> int:
    content = (holder or {}).get("content")
    blocks = [mapping(block) for block in content] if isinstance(content, list | tuple) else []
    return sum(("cache_control" in block) + _marks(block) for block in blocks if block)


def misplaced(kind: object, role: object) -> bool:
    """Returns whether a block of this type can't stand in a message of this role."""
    if role != "assistant" and (kind in _ASSISTANT_ONLY or is_server_result(kind)):
        return True
    return role != "user" and kind in _USER_ONLY


def may_stand(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    """Returns whether a system message may stand there: behind a user's message, as the last one or before the assistant's."""
    if not index or messages[index - 1].get("role") != "user":
        return False
    return index == len(messages) - 1 or messages[index + 1].get("role") == "assistant"


def faults(wire: Wire) -> Iterator[Fault]:
    """Yields the reasons for which the API would refuse the request."""
    for rule, text in _system(wire.system):
        yield Fault(rule, None, text)
    messages = wire.messages
    if not messages:
        yield Fault("no-messages", None, "no messages")
    elif messages[0].get("role") != "user":
        yield Fault("first-turn", 0, "the first message isn't the user's")
    system = wire.system if isinstance(wire.system, list) else []
    if (marks := breakpoints([{"content": system}, *messages], ())) > BREAKPOINTS:
        yield Fault("cache-marks", None, f"{marks} cache_control marks, {BREAKPOINTS} at most")
    waiting: set[str] = set()
    seen: set[str] = set()
    lone = lone_server_blocks(messages)
    for index, message in enumerate(messages):
        last = index == len(messages) - 1
        blocks, wrong = _read(message, last)
        wrong += _envelope(messages, index)
        wrong += (fault for block in blocks for fault in _block(block, message.get("role"), last))
        wrong += (
            ("server-pair", f"a {block.get('type')} without its other half")
            for place, block in enumerate(blocks)
            if (index, place) in lone
        )
        answered = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        wrong += _answers(answered, waiting)
        if any(block.get("type") == "tool_result" for block in blocks[len(answered) :]):
            wrong.append(("result-order", "tool results after other blocks"))
        calls = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if seen & set(calls) or len(set(calls)) < len(calls):
            wrong.append(("duplicate-call-id", "a tool call's id used twice"))
        seen |= set(calls)
        waiting = set(calls)
        for rule, text in wrong:
            yield Fault(rule, index, f"message {index}: {text}")
    if waiting:
        yield Fault("call-without-result", None, f"tool calls at the end without a result: {sorted(waiting)}")


def _read(message: Mapping[str, Any], last: bool) -> tuple[list[Mapping[str, Any]], list[tuple[str, str]]]:
    """Returns the message's blocks, and the faults of its content as a whole: rules with sentences."""
    content, role = message.get("content"), message.get("role")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list | tuple) or (not blocks and not (last and role == "assistant")):
        return [], [("no-content", "no content")]
    read = [mapping(block) or {} for block in blocks]
    text = str(read[-1].get("text", "")) if read else ""
    if last and role == "assistant" and text != text.rstrip():
        return read, [("trailing-space", "the last words end in white space")]
    return read, []


def _envelope(messages: Sequence[Mapping[str, Any]], index: int) -> Iterator[tuple[str, str]]:
    message = messages[index]
    role, content = message.get("role"), message.get("content")
    if role == "system":
        if not may_stand(messages, index):
            yield "system-place", "a system message can't stand there"
        parts = content if isinstance(content, list | tuple) else ()
        if any((mapping(block) or {}).get("type") != "text" for block in parts):
            yield "system-part", "a system message holds text only"
    elif role not in ("user", "assistant"):
        yield "role", f"unknown role {role!r}"
    for key in message:
        if key not in ("role", "content"):
            yield "key", f"unknown key {key!r}"
    if ends_in_thinking(messages, index):
        yield "thinking-last", "the assistant's last block is thinking"


def _answers(answered: Sequence[Any], waiting: Set[str]) -> Iterator[tuple[str, str]]:
    if set(answered) == waiting and len(answered) == len(waiting):
        return
    rule = "result-without-call" if waiting <= set(answered) else "call-without-result"
    yield rule, f"tool results {list(answered)} for the tool calls {sorted(waiting)} right before"


def _block(block: Mapping[str, Any], role: object, last: bool) -> Iterator[tuple[str, str]]:
    kind = block.get("type")
    if not isinstance(kind, str) or kind in _FOREIGN:
        yield "part-type", f"no block the API knows: {kind!r}"
    elif misplaced(kind, role):
        yield "part-type", f"a block of type {kind} can't stand in a message of role {role}"
    if kind == "text" and blank(block.get("text")) and not (last and role == "assistant" and block.get("text") == ""):
        yield "empty-text", "an empty text"
    elif kind == "tool_use":
        if not (ID.fullmatch(str(block.get("id", ""))) and NAME.fullmatch(str(block.get("name", "")))):
            yield "call-id", f"tool call {block.get('id')!r}: id or name isn't of the form the API takes"
        if not isinstance(block.get("input"), Mapping):
            yield "arguments", f"tool call {block.get('id')!r}: input is no object"
    elif kind == "tool_result" and not isinstance(block.get("content", ""), str | list | tuple):
        yield "content-type", f"tool result {block.get('tool_use_id')!r}: content is neither text nor blocks"
    elif kind == "thinking" and not (isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str)):
        yield "part-shape", "thinking without its text or its signature"
    elif kind == "image":
        source = mapping(block.get("source")) or {}
        known = source.get("type") in ("base64", "url", "file")
        if not known or (source["type"] == "base64" and not str(source.get("media_type")).startswith("image/")):
            yield "part-shape", "an image without a source the API can read"


def _system(system: str | list[dict[str, Any]] | None) -> Iterator[tuple[str, str]]:
    if isinstance(system, str) and blank(system):
        yield "system-empty", "system is empty"
    elif isinstance(system, list):
        if not system:
            yield "system-empty", "system is an empty list"
        for block in system:
            if block.get("type") != "text" or blank(block.get("text")):
                yield "system-part", "a block of system that isn't text, or empty"


# A turn goes from a user's words to the next: the result of a server's tool is in the same message as its call, or in a
# later one of the turn. Only the last turn may be paused between the two. No turn of the assistant's ends in thinking.


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
    return {"type": "text", "text": valid_unicode(text)}


def _words(content: object) -> list[str]:
    """What can be read in a server's result: its text, or the fields with words of each thing that it found."""
    if isinstance(content, str):
        return [content]
    found = content if isinstance(content, list | tuple) else [content]
    fields = [mapping(each) or {} for each in found]
    return [str(each[key]) for each in fields for key in _SHOWN if isinstance(each.get(key), str) and each[key]]
