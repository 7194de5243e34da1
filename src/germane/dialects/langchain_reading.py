"""LangChain reading: what LangChain's message objects say, told by their fields; the library itself isn't imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from germane.dialects.wording import json_object, json_text, tool_name
from germane.types.message import ToolCall

__all__ = ["REPEATED", "as_message", "calls_in", "is_langchain", "role_in", "texts_in"]

_ROLES = {"human": "user", "system": "system", "ai": "assistant", "tool": "tool", "function": "tool", "developer": "system"}
_TEXTS = ("text", "text-plain", "input_text", "output_text", "refusal")
REPEATED = ("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call", "input_json_delta")
"""Blocks that say again what `tool_calls` say."""
_OF_RESPONSES = ("reasoning", "non_standard")
"""Blocks that are items of OpenAI's Responses API, or that LangChain couldn't tell: no message can hold them."""


def is_langchain(value: object) -> bool:
    """Returns whether `value` is one of LangChain's messages."""
    kind = getattr(type(value), "model_fields", None)
    return isinstance(kind, Mapping) and {"content", "additional_kwargs", "response_metadata", "type"} <= kind.keys()


def role_in(message: Any) -> str:
    """The role of a message, which a `ChatMessage` holds itself."""
    kind = str(message.type)
    if kind == "chat":
        role = str(getattr(message, "role", ""))
        return "assistant" if role == "assistant" else _ROLES.get(role, "user")
    return _ROLES.get(kind.removesuffix("MessageChunk").lower(), "user")


def texts_in(message: Any) -> tuple[str, list[Mapping[str, Any]]]:
    """The texts of a message, and its other blocks, without those that repeat its calls."""
    if isinstance(message.content, str):
        return message.content, []
    texts: list[str] = []
    unread: list[Mapping[str, Any]] = []
    for block in message.content:
        if isinstance(block, str):
            texts.append(block)
        elif block.get("type") in _TEXTS:
            texts.append(str(block.get("text") or block.get("refusal") or ""))
        elif block.get("type") not in REPEATED:
            unread.append(block)
    return "\n".join(texts), unread


def calls_in(message: Any) -> Iterator[ToolCall]:
    """The calls of an answer, with those whose arguments couldn't be read: they are sent to the model too."""
    given = [*(getattr(message, "tool_calls", None) or ()), *(getattr(message, "invalid_tool_calls", None) or ())]
    for number, call in enumerate(given):
        arguments = call["args"]
        yield ToolCall(
            id=call["id"] or f"unnamed_{number}",
            name=call["name"] or "",
            arguments=json_text({} if arguments is None else arguments),
        )


def as_message(message: Any) -> dict[str, Any]:
    """Returns the message as a provider's: with Claude's blocks as Anthropic takes it, else as the chat API does."""
    role, content = role_in(message), message.content
    out: dict[str, Any] = {"role": role, "content": content if isinstance(content, str) else list(content)}
    if isinstance(getattr(message, "id", None), str):
        out["id"] = message.id
    if role == "tool":
        out["tool_call_id"] = str(getattr(message, "tool_call_id", "") or "")
        return _claudes_result(out) if getattr(message, "status", "") == "error" else out
    calls = [*calls_in(message)]
    if role == "assistant" and not isinstance(content, str):
        blocks = [block for block in content if _type(block) not in _OF_RESPONSES]
        if any(_type(block) in ("tool_use", "redacted_thinking") or _is_signed(block) for block in blocks):
            return out | {"content": [_whole(block, calls) for block in blocks]}
        out["content"] = [block for block in blocks if _type(block) not in REPEATED] or ""
    if calls:
        out["content"] = out["content"] or None
        out["tool_calls"] = [_written(call) for call in calls]
    return out


def _type(block: object) -> object:
    return block.get("type") if isinstance(block, Mapping) else None


def _is_signed(block: object) -> bool:
    return isinstance(block, Mapping) and _type(block) == "thinking" and isinstance(block.get("signature"), str)


def _written(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": tool_name(call.name), "arguments": call.arguments}}


def _whole(block: Any, calls: list[ToolCall]) -> Any:
    """A block as Claude's API takes it: LangChain adds the number of a block that was streamed, and holds the input of such a
    call as a text."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    fields = {key: value for key, value in block.items() if key not in ("index", "partial_json")}
    if fields.get("type") == "tool_use" and not isinstance(fields.get("input"), Mapping):
        arguments = next((call.arguments for call in calls if call.id == fields.get("id")), "{}")
        fields["input"] = json_object(arguments)
    return fields


def _claudes_result(message: dict[str, Any]) -> dict[str, Any]:
    """A failed result in the shape of Anthropic, which alone can say so."""
    result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"], "is_error": True}
    return {"role": "user", "content": [result]} | ({"id": message["id"]} if "id" in message else {})
