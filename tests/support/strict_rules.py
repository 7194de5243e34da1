"""Strict rules: what providers refuse in a request body, written from their documentation and apart from germane's dialects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["anthropic_refuses", "chat_refuses", "gemini_refuses", "responses_refuses"]

Body = dict[str, Any]
_RESPONSES_OPTIONS = frozenset(
    {
        "include",
        "parallel_tool_calls",
        "prompt_cache_key",
        "reasoning",
        "stream",
        "text",
        "tool_choice",
        "prompt_cache_retention",
    }
)
"""Options of the Responses API that have nothing to do with the conversation."""


def chat_refuses(body: Body) -> Iterator[str]:
    """The chat completions API."""
    yield from _keys("body", body, {"model", "messages"}, {"tools", "temperature", "stream", "tool_choice"})
    open_calls: list[str] = []
    for index, message in enumerate(body.get("messages") or [{}]):
        where, role = f"messages[{index}]", message.get("role")
        allowed = {"user": {"name"}, "assistant": {"name", "tool_calls", "refusal", "annotations"}, "tool": {"tool_call_id"}}
        if role not in ("system", "developer", "user", "assistant", "tool"):
            yield f"{where}: role {role!r}"
            continue
        yield from _keys(where, message, {"role"}, {"content", *allowed.get(role, {"name"})})
        if role != "tool" and open_calls:
            yield f"{where}: calls {open_calls} without results before it"
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                yield f"{where}: result of no call"
            else:
                open_calls.remove(message["tool_call_id"])
        content = message.get("content")
        if content is None and not message.get("tool_calls"):
            yield f"{where}: no content"
        if isinstance(content, list):
            for part in content:
                yield from _keys(f"{where}.content", part, {"type"}, {"text", "image_url", "file", "input_audio"})
        for call in message.get("tool_calls") or ():
            yield from _keys(f"{where}.tool_calls", call, {"id", "type", "function"}, set())
            yield from _keys(f"{where}.tool_calls", call["function"], {"name", "arguments"}, set())
            open_calls.append(call["id"])
    if open_calls:
        yield f"calls {open_calls} without results"


def responses_refuses(body: Body) -> Iterator[str]:
    """The Responses API, without a stored conversation."""
    yield from _keys("body", body, {"model", "input"}, {"instructions", "tools", "store", *_RESPONSES_OPTIONS})
    if body.get("instructions") == "":
        yield "instructions are empty"
    items = body.get("input") or [{}]
    outputs = [item.get("call_id") for item in items if str(item.get("type")).endswith("_call_output")]
    seen: set[str] = set()
    for index, item in enumerate(items):
        where, kind = f"input[{index}]", item.get("type", "message")
        following = items[index + 1] if index + 1 < len(items) else {}
        match kind:
            case "message":
                yield from _item_message(where, item)
            case "function_call":
                yield from _keys(where, item, {"type", "call_id", "name", "arguments"}, {"id", "status"})
                if not str(item.get("id", "fc_")).startswith("fc_"):
                    yield f"{where}: id must begin with fc_"
                if outputs.count(item.get("call_id")) != 1:
                    yield f"{where}: no tool output found for {item.get('call_id')}"
                seen.add(item.get("call_id"))
            case "custom_tool_call":
                yield from _keys(where, item, {"type", "call_id", "name", "input"}, {"id", "status"})
                if outputs.count(item.get("call_id")) != 1:
                    yield f"{where}: no tool output found for {item.get('call_id')}"
                seen.add(item.get("call_id"))
            case "function_call_output" | "custom_tool_call_output":
                yield from _keys(where, item, {"type", "call_id", "output"}, {"id", "status"})
                if item.get("call_id") not in seen:
                    yield f"{where}: no tool call found for {item.get('call_id')}"
            case "reasoning":
                yield from _keys(where, item, {"type", "id", "summary"}, {"encrypted_content", "content", "status"})
                if following.get("type") != "function_call" and following.get("role") != "assistant":
                    yield f"{where}: reasoning without its required following item"
            case _:
                yield f"{where}: type {kind!r}"


def _item_message(where: str, item: Body) -> Iterator[str]:
    if item.get("role") == "assistant":
        yield from _keys(where, item, {"role", "content"}, {"type", "id", "status", "phase"})
        if not str(item.get("id", "msg_")).startswith("msg_"):
            yield f"{where}: id must begin with msg_"
    elif item.get("role") in ("user", "system", "developer"):
        yield from _keys(where, item, {"role", "content"}, {"type"})
    else:
        yield f"{where}: role {item.get('role')!r}"
    if item.get("content") in (None, []):  # the API takes an empty text
        yield f"{where}: no content"


def anthropic_refuses(body: Body) -> Iterator[str]:
    """The Messages API, of a model that takes system messages in the middle."""
    yield from _keys("body", body, {"model", "max_tokens", "messages"}, {"system", "tools"})
    system, messages = body.get("system", "none"), body.get("messages") or [{}]
    if system in ("", []):
        yield "system is empty"
    blocks = [block for block in system if isinstance(block, dict)] if isinstance(system, list) else []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where, role = f"messages[{index}]", message.get("role")
        yield from _keys(where, message, {"role", "content"}, set())
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        blocks += parts
        if not parts:
            yield f"{where}: no content"
        for part in parts:
            yield from _block(where, part, role)
        answered = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        if sorted(answered) != sorted(waiting):
            yield f"{where}: tool_use ids {waiting} were found without tool_result blocks immediately after"
        waiting = [part["id"] for part in parts if part["type"] == "tool_use"]
        before = messages[index - 1].get("role") if index else "nothing"
        after = messages[index + 1].get("role") if index + 1 < len(messages) else "nothing"
        if role == "system" and (before != "user" or after not in ("assistant", "nothing")):
            yield f"{where}: a system message must be behind a user's"
        if role not in ("user", "assistant", "system"):
            yield f"{where}: role {role!r}"
    if messages[0].get("role") != "user":
        yield "the first message must be the user's"
    if sum("cache_control" in block for block in blocks) > 4:
        yield "more than 4 cache_control blocks"


def _block(where: str, block: Body, role: object) -> Iterator[str]:
    fields = {
        "text": {"text"},
        "tool_use": {"id", "name", "input"},
        "tool_result": {"tool_use_id", "content"},
        "thinking": {"thinking", "signature"},
    }.get(block.get("type", ""))
    if fields is None:
        yield f"{where}: block {block.get('type')!r}"
        return
    yield from _keys(where, block, {"type", *fields}, {"cache_control", "is_error"})
    if block["type"] == "text" and not block["text"].strip():
        yield f"{where}: text content blocks must be non-empty"
    if (block["type"] in ("tool_use", "thinking") and role != "assistant") or (
        block["type"] == "tool_result" and role != "user"
    ):
        yield f"{where}: {block['type']} in a message of {role}"


def gemini_refuses(body: Body) -> Iterator[str]:
    """The generateContent API."""
    yield from _keys("body", body, {"contents"}, {"systemInstruction", "generationConfig", "tools"})
    if "systemInstruction" in body and not all(part.get("text") for part in body["systemInstruction"].get("parts") or [{}]):
        yield "systemInstruction without text"
    waiting: list[str] = []
    before = ""
    for index, turn in enumerate(body.get("contents") or [{}]):
        where, role = f"contents[{index}]", turn.get("role")
        yield from _keys(where, turn, {"role", "parts"}, set())
        if role not in ("user", "model") or role == before or (not index and role != "user"):
            yield f"{where}: role {role!r} after {before!r}"
        before = str(role)
        for part in turn.get("parts") or [{}]:
            held = part.keys() & {"text", "functionCall", "functionResponse", "inlineData"}
            if len(held) != 1 or part.get("text") == "":
                yield f"{where}: a part must hold one thing, not {sorted(part)}"
            yield from _keys(where, part, held, {"thoughtSignature"})
        answers = [part["functionResponse"]["name"] for part in turn.get("parts") or () if "functionResponse" in part]
        if answers != waiting:
            yield f"{where}: responses {answers} for calls {waiting}"
        waiting = [part["functionCall"]["name"] for part in turn.get("parts") or () if "functionCall" in part]


def _keys(where: str, value: Body, required: set[str], optional: set[str]) -> Iterator[str]:
    yield from (f"{where}: {key} is required" for key in sorted(required - value.keys()))
    yield from (f"{where}: unknown field {key}" for key in sorted(value.keys() - required - optional))
