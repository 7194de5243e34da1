"""Request body: a whole request as the keyword arguments of a provider's SDK: system parts, messages, tools, model.

Anthropic's prompt cache needs marks: one after the first system part, one after the tools and one after the conversation so far
are set where the request has room for them. The other providers cache the prefix by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from germane.dialects.anthropic_check import BREAKPOINTS, breakpoints
from germane.dialects.envelope import mapping
from germane.dialects.wording import sendable
from germane.types.message import Message, Wire, system_text

__all__ = ["CachePlace", "RequestBody", "body_of"]

CachePlace = Literal["tools", "instructions", "history"]

_MARK = {"cache_control": {"type": "ephemeral"}}
_LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
_OPENAIS = ("gpt-", "o1", "o3", "o4", "chatgpt", "codex")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBody:
    """`kwargs` are those of the SDK's call; `system` is the system prompt as the provider takes it, None where there is none;
    `marked` are the places where a cache mark stands that this request added or found."""

    kwargs: dict[str, Any]
    system: str | list[dict[str, Any]] | None
    messages: list[Mapping[str, Any] | Message]
    tools: list[Mapping[str, Any]]
    marked: tuple[CachePlace, ...] = ()


def body_of(
    provider: str,
    *,
    model: str,
    wire: Wire,
    system: Sequence[str],
    tools: Sequence[Mapping[str, Any]],
    max_output: int,
) -> RequestBody:
    """Returns the request. `system` are the system parts, of which the first is the stable one; empty ones are left out. `wire`
    is the conversation in the provider's shape, with a system text of its own, which comes last."""
    parts = [sendable(part) for part in system if part.strip()]
    given = [dict(tool) for tool in tools]
    match provider:
        case "anthropic":
            return _anthropic(model, wire, parts, bool(system and system[0].strip()), given, max_output)
        case "gemini":
            return _gemini(model, wire, parts, given, max_output)
        case "openai-responses":
            text = "\n\n".join(filter(None, (*parts, system_text(wire.system) if wire.system is not None else "")))
            named = {"instructions": text} if text else {}
            kwargs = {"model": model, **named, "input": wire.messages, **_some(tools=given), "max_output_tokens": max_output}
            return RequestBody(kwargs=kwargs, system=text or None, messages=list(wire.messages), tools=[*given])
    joined = "\n\n".join(parts)
    messages: list[Any] = [*([{"role": "system", "content": joined}] if joined else []), *wire.messages]
    limit = "max_completion_tokens" if model.lower().rpartition("/")[2].startswith(_OPENAIS) else "max_tokens"
    kwargs = {"model": model, "messages": messages, **_some(tools=given), limit: max_output}
    return RequestBody(kwargs=kwargs, system=joined or None, messages=messages, tools=[*given])


def _gemini(model: str, wire: Wire, parts: list[str], tools: list[dict[str, Any]], max_output: int) -> RequestBody:
    own = [{"text": wire.system}] if isinstance(wire.system, str) else wire.system or []
    system: list[dict[str, Any]] = [*({"text": part} for part in parts), *own]
    config = {**_some(system_instruction={"parts": system} if system else None, tools=tools), "max_output_tokens": max_output}
    kwargs = {"model": model, "contents": wire.messages, "config": config}
    return RequestBody(kwargs=kwargs, system=system or None, messages=list(wire.messages), tools=[*tools])


def _anthropic(
    model: str, wire: Wire, parts: list[str], stable: bool, tools: list[dict[str, Any]], max_output: int
) -> RequestBody:
    own: list[Any] = [{"type": "text", "text": wire.system}] if isinstance(wire.system, str) else wire.system or []
    system: list[Any] = [*({"type": "text", "text": part} for part in parts), *own]
    messages: list[Any] = list(wire.messages)
    room = BREAKPOINTS - breakpoints([{"content": own}, *messages], tools)
    mark = _LONG if _keeps_long({"content": [*own, *messages]}) else _MARK  # a longer one may not stand behind a shorter one
    marked: list[CachePlace] = []
    if stable and room > 0:
        system[0], room = {**system[0], **mark}, room - 1
        marked.append("instructions")
    last = next((place for place in range(len(tools) - 1, -1, -1) if not tools[place].get("defer_loading")), None)
    if any("cache_control" in tool for tool in tools):
        marked.append("tools")
    elif last is not None and room > 0:
        tools[last], room = {**tools[last], **mark}, room - 1
        marked.append("tools")
    before = _before_the_last_words(messages)
    if breakpoints(messages, ()):
        marked.append("history")
    elif room > 0 and before is not None and (held := _marked(messages[before])):
        messages[before] = held
        marked.append("history")
    kwargs = {"model": model, "max_tokens": max_output, **_some(system=system), "messages": messages, **_some(tools=tools)}
    return RequestBody(kwargs=kwargs, system=system or None, messages=messages, tools=[*tools], marked=tuple(marked))


def _before_the_last_words(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """The index of the message before the user's last words, with which the conversation so far ends; None where there is
    none."""
    for index in range(len(messages) - 1, 0, -1):
        if messages[index].get("role") == "user" and not _only_results(messages[index].get("content")):
            return index - 1
    return None


def _only_results(content: object) -> bool:
    blocks = content if isinstance(content, list | tuple) else ()
    return bool(blocks) and all((mapping(block) or {}).get("type") == "tool_result" for block in blocks)


def _keeps_long(holder: Mapping[str, Any]) -> bool:
    """Whether a block inside has a cache mark of an hour."""
    content = holder.get("content")
    blocks = [mapping(block) or {} for block in content] if isinstance(content, list | tuple) else []
    return any((mapping(block.get("cache_control")) or {}).get("ttl") == "1h" or _keeps_long(block) for block in blocks)


def _marked(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """A copy of the message with a cache mark at its end; None where its last block takes none."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list | tuple) or not blocks:
        return None
    block = mapping(blocks[-1])
    if block is None or block.get("type") not in ("text", "tool_use", "tool_result", "image", "document"):
        return None
    return {**message, "content": [*blocks[:-1], {**block, **_MARK}]}


def _some(**given: Any) -> dict[str, Any]:
    """Those of the arguments that hold something."""
    return {name: value for name, value in given.items() if value}
