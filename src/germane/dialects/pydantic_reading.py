"""Pydantic reading: what Pydantic AI's message objects say, told by their kinds; the library itself isn't imported.

A request of Pydantic AI's holds several parts, and each of them is a message of a provider's. A response is one.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from germane.dialects.wording import json_object, tool_name
from germane.types.message import ToolCall

__all__ = ["PartSaid", "ResponseSaid", "as_messages", "instructions_in", "is_pydantic", "part_said", "response_said"]

_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class PartSaid(NamedTuple):
    """A part of a request. `items` are texts and objects beside `text`: a user's words and pictures in order, or files of a
    result. `call_id` is None where it is no result."""

    role: str
    text: str
    items: Sequence[Any] = ()
    call_id: str | None = None
    failed: bool = False


class ResponseSaid(NamedTuple):
    """A response: its texts, its calls, and all other parts."""

    texts: list[str]
    calls: list[ToolCall]
    unread: list[Any]


def is_pydantic(value: object) -> bool:
    """Returns whether `value` is a request or a response of Pydantic AI's."""
    kind = getattr(value, "kind", None)
    return is_dataclass(value) and kind in ("request", "response") and isinstance(getattr(value, "parts", None), list | tuple)


def part_said(part: Any) -> PartSaid | None:
    """Reads a part of a request; None for a part that says nothing. Feedback on an answer is the application's, not a user's
    request, so it is said in the system's role."""
    match part.part_kind:
        case "system-prompt":
            return PartSaid("system", part.content)
        case "user-prompt" if isinstance(part.content, str):
            return PartSaid("user", part.content)
        case "user-prompt":
            return PartSaid("user", "", part.content)
        case "speech":
            return PartSaid("user", part.transcript or "")
        case "compaction":
            return PartSaid("user", part.content or "")
        case "tool-return":
            failed = getattr(part, "outcome", "success") != "success"
            return PartSaid("tool", part.model_response_str(), part.files, part.tool_call_id or "", failed)
        case "retry-prompt" if part.tool_name is not None:
            return PartSaid("tool", part.model_response(), (), part.tool_call_id or "", True)
        case "retry-prompt" | "retry-feedback":
            return PartSaid("system", part.model_response())
    return None


def response_said(message: Any) -> ResponseSaid:
    """Reads a response."""
    said = ResponseSaid([], [], [])
    for part in message.parts:
        match part.part_kind:
            case "text":
                said.texts.append(part.content)
            case "speech":
                said.texts.append(part.transcript or "")
            case "tool-call":
                said.calls.append(ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=part.args_as_json_str()))
            case _:
                said.unread.append(part)
    return said


def instructions_in(messages: Sequence[Any]) -> str:
    """The instructions of the newest request that has some: Pydantic AI sends them as the system prompt."""
    requests = (each for each in reversed(messages) if type(each) is not dict and is_pydantic(each) and each.kind == "request")
    return next((str(request.instructions) for request in requests if request.instructions), "")


def as_messages(message: Any) -> Iterator[dict[str, Any]]:
    """Yields a request or a response as messages of the chat API; what Claude alone can say in Anthropic's shape. What the
    provider's own tools did, and the thinking of other providers, is left out: no message of another call can hold it."""
    if message.kind == "response":
        yield _answer(message)
        return
    for part in message.parts:
        said = part_said(part)
        if said is None:
            continue
        items = [_item(item) for item in said.items if getattr(item, "kind", "") != "cache-point"]
        content: Any = [*([{"type": "text", "text": said.text}] if said.text else []), *items] if items else said.text
        if said.call_id is None:
            yield {"role": said.role, "content": content}
        elif said.failed:
            result = {"type": "tool_result", "tool_use_id": said.call_id, "content": content, "is_error": True}
            yield {"role": "user", "content": [result]}
        else:
            yield {"role": "tool", "tool_call_id": said.call_id, "content": content}


def _answer(message: Any) -> dict[str, Any]:
    if any(_is_claudes(part) for part in message.parts):
        blocks = (_block(part) for part in message.parts)
        return {"role": "assistant", "content": [block for block in blocks if block is not None]}
    said = response_said(message)
    text = "\n\n".join(said.texts)
    if not said.calls:
        return {"role": "assistant", "content": text}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": tool_name(call.name), "arguments": call.arguments}}
        for call in said.calls
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _is_claudes(part: Any) -> bool:
    return part.part_kind == "thinking" and bool(part.signature) and part.provider_name == "anthropic"


def _block(part: Any) -> dict[str, Any] | None:
    """A part of Claude's response as a block of Anthropic's."""
    match part.part_kind:
        case "thinking" if _is_claudes(part):
            if part.id == "redacted_thinking":
                return {"type": "redacted_thinking", "data": part.signature}
            return {"type": "thinking", "thinking": part.content, "signature": part.signature}
        case "text" if part.content:
            return {"type": "text", "text": part.content}
        case "tool-call":
            arguments = json_object(part.args_as_json_str())
            return {"type": "tool_use", "id": part.tool_call_id, "name": tool_name(part.tool_name), "input": arguments}
    return None


def _item(item: Any) -> dict[str, Any]:
    """A piece of a user's prompt, or a file of a result, as a part of the chat API; a file without one there as a gateway's."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    match getattr(item, "kind", ""):
        case "image-url":
            return {"type": "image_url", "image_url": {"url": item.url}}
        case "audio-url" | "document-url" | "video-url" as kind:
            name = kind.replace("-", "_")
            return {"type": name, name: {"url": item.url}}
        case "binary":
            return _file(item.media_type, item.data)
        case "uploaded-file":
            return {"type": "file", "file": {"file_id": item.file_id}}
    return {"type": "text", "text": str(getattr(item, "content", item))}


def _file(media: str, data: bytes) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode("ascii")
    url = f"data:{media};base64,{encoded}"
    if media.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    if format := _FORMATS.get(media):
        return {"type": "input_audio", "input_audio": {"data": encoded, "format": format}}
    if media.startswith(("audio/", "video/")):
        name = f"{media.partition('/')[0]}_url"
        return {"type": name, name: {"url": url}}
    return {"type": "file", "file": {"filename": "document", "file_data": url}}
