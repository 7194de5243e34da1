"""LangChain messages: LangChain's messages as stand-ins, and back: unchanged ones are the same objects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from germane.compaction.compaction import Compaction
from germane.dialects.langchain_reading import REPEATED, calls_in, role_in, texts_in
from germane.dialects.wording import call_as_text
from germane.errors import MissingExtra
from germane.history.adapter import is_unchanged
from germane.history.stand_ins import CallIds, assistant, held, kept_calls, picture, plain_text, result, said, tool_call

try:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtra("langgraph", "langchain-core") from error

__all__ = ["compacted_messages", "model_name", "stand_ins", "tool_schemas"]


def stand_ins(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Returns a stand-in for each message."""
    ids = CallIds()
    return [_stand_in(message, ids) for message in messages]


def _stand_in(message: BaseMessage, ids: CallIds) -> dict[str, Any]:
    role = role_in(message)
    text, unread = texts_in(message)
    if isinstance(message, AIMessage):
        calls = [tool_call(ids.fit(call.id), call.name, call.arguments) for call in calls_in(message)]
        return assistant(text, calls, unread)
    if role == "tool":
        return result(ids.fit(getattr(message, "tool_call_id", "")), text, [_part(block) for block in unread])
    if role == "assistant":
        return assistant(text, (), unread)
    if role == "system" or not unread:
        return said(role, text)
    return said(role, [{"type": "text", "text": text}] * bool(text) + [_part(block) for block in unread])


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block of the user's: a picture that can be measured, or held unread."""
    source = block.get("image_url")
    url = source.get("url") if isinstance(source, Mapping) else source
    if block.get("type") == "image":
        inner = block.get("source")
        fields = inner if isinstance(inner, Mapping) else block
        data = fields.get("base64") or (fields.get("data") if isinstance(fields.get("data"), str) else None)
        media = fields.get("mime_type") or fields.get("media_type") or "image/png"
        url = f"data:{media};base64,{data}" if data else fields.get("url")
    return picture(url) if isinstance(url, str) and url.startswith(("data:image/", "https://", "http://")) else held(block)


def compacted_messages(
    messages: Sequence[BaseMessage], compact: Callable[[Sequence[Mapping[str, Any]]], Compaction]
) -> list[BaseMessage]:
    """Returns the messages as `compact` leaves their stand-ins: unchanged ones are the same objects, changed ones are copies
    with the same id, and germane's own have an id that follows from their content."""
    given = stand_ins(messages)
    compaction = compact(given)
    if is_unchanged(compaction, given):
        return list(messages)
    out: list[BaseMessage] = []
    for written, origin in zip(compaction.messages, compaction.origins, strict=True):
        if origin is None:
            out.append(_own(written))
        elif written == given[origin]:
            out.append(messages[origin])
        else:
            out.append(_changed(messages[origin], given[origin], written))
    return out


def _own(written: Mapping[str, Any]) -> BaseMessage:
    text = plain_text(written.get("content"))
    id = f"germane-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    kind: Any = {"system": SystemMessage, "assistant": AIMessage}.get(str(written.get("role")), HumanMessage)
    written_by: dict[str, Any] = {"additional_kwargs": {"lc_source": "summarization"}}
    message: BaseMessage = kind(content=text, id=id, **written_by)
    return message


def _changed(message: BaseMessage, given: Mapping[str, Any], written: Mapping[str, Any]) -> BaseMessage:
    """A copy with what `compact` changed: a masked result, a result without its call, or calls without their results."""
    if isinstance(message, AIMessage) and written.get("role") == "assistant":
        return _closed(message, kept_calls(given, written))
    update: dict[str, Any] = {"content": plain_text(written.get("content"))}
    if not isinstance(message, ToolMessage):
        return message.model_copy(update=update)
    if written.get("role") != "tool":
        return HumanMessage(id=message.id, **update)
    if written["tool_call_id"] != given["tool_call_id"]:
        update["tool_call_id"] = written["tool_call_id"]
    return message.model_copy(
        update=update if written.get("content") != given.get("content") else update | {"content": message.content}
    )


def _closed(message: AIMessage, kept: Mapping[int, str | None]) -> AIMessage:
    """The model's message with the calls that `kept` counts, the others as text."""
    calls = list(calls_in(message))
    readable = len(message.tool_calls)
    ids = [kept[number] or call.id if number in kept else None for number, call in enumerate(calls)]
    notes = [call_as_text(call) for call, id in zip(calls, ids, strict=True) if id is None]
    waiting: dict[str, list[str | None]] = {}
    for call, id in zip(calls, ids, strict=True):
        waiting.setdefault(call.id, []).append(id)
    blocks = [message.content] if isinstance(message.content, str) else list(message.content)
    left = [new for block in blocks if block != "" and (new := _with_ids(block, waiting)) is not None]
    plain = all(isinstance(block, str) for block in left)
    content: Any = (
        "\n".join([*map(str, left), *notes]) if plain else [*left, *({"type": "text", "text": note} for note in notes)]
    )
    return message.model_copy(
        update={
            "content": content,
            "tool_calls": _kept(message.tool_calls, ids[:readable]),
            "invalid_tool_calls": _kept(message.invalid_tool_calls, ids[readable:]),
            "additional_kwargs": {key: each for key, each in message.additional_kwargs.items() if key != "tool_calls"},
        }
    )


def _kept(calls: Sequence[Any], ids: Sequence[str | None]) -> list[dict[str, Any]]:
    return [{**call, "id": id} for call, id in zip(calls, ids, strict=True) if id is not None]


def _with_ids(block: str | dict[Any, Any], waiting: Mapping[str, list[str | None]]) -> str | dict[Any, Any] | None:
    """A block with the new id of its call, the next one of those that have its id; None where the call isn't kept."""
    if isinstance(block, str) or block.get("type") not in REPEATED:
        return block
    key = "call_id" if "call_id" in block else "id"
    left = waiting.get(block.get(key, ""))
    if not left or (id := left.pop(0)) is None:
        return None
    return block if block[key] == id else {**block, key: id}


def model_name(model: object) -> str:
    """The name of a chat model: the string itself, or what the model's object says."""
    if isinstance(model, str):
        return model
    for name in ("model_name", "model", "model_id", "deployment_name"):
        if isinstance(found := getattr(model, name, None), str) and found:
            return found
    bound = getattr(model, "bound", None)
    return model_name(bound) if bound is not None else ""


def tool_schemas(tools: Sequence[object]) -> list[dict[str, Any]]:
    """The schemas of tools as they are sent, for counting."""
    return [
        tool if isinstance(tool, dict) else convert_to_openai_tool(tool)
        for tool in tools
        if isinstance(tool, dict | BaseTool) or callable(tool)
    ]
