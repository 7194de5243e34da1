"""Framework messages: messages of LangChain, LlamaIndex and Pydantic AI, and messages given in pieces, as provider messages.

The objects of LangChain and LlamaIndex are told by their fields, those of Pydantic AI by their kinds; no library is imported.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from germane.dialects.fields import json_object, json_text, mapping, tool_name
from germane.types.message import Raw, ToolCall

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


# LlamaIndex's messages hold blocks. Calls are blocks too, or stand in `additional_kwargs` as OpenAI's client gave them.


_UNTOLD = {"image": "image/png", "video": "video/mp4", "document": "application/pdf"}
_LLAMA_ROLES = {"developer": "system", "chatbot": "assistant", "model": "assistant", "function": "tool"}


def is_llamaindex(value: object) -> bool:
    """Returns whether `value` is one of LlamaIndex's messages."""
    kind = getattr(type(value), "model_fields", None)
    return isinstance(kind, Mapping) and {"role", "blocks", "additional_kwargs"} <= kind.keys()


def as_chat_message(message: Any) -> dict[str, Any]:
    """Returns LlamaIndex's message as the chat API takes it. Thinking and what was cited are left out."""
    role = str(getattr(message.role, "value", message.role))
    role = _LLAMA_ROLES.get(role, role)
    blocks = list(message.blocks)
    texts = [block.text for block in blocks if block.block_type == "text"]
    files = [part for block in blocks if (part := _llama_file(block)) is not None]
    content: Any = "\n".join(texts)
    if files:
        content = [*({"type": "text", "text": text} for text in texts), *files]
    extra = mapping(message.additional_kwargs) or {}
    if role == "tool":
        return {"role": role, "tool_call_id": str(extra.get("tool_call_id") or ""), "content": content}
    calls = [*_llama_calls(blocks, extra)] if role == "assistant" else []
    if not calls:
        return {"role": role, "content": content}
    return {"role": role, "content": content or None, "tool_calls": [_written(call) for call in calls]}


def _llama_calls(blocks: Sequence[Any], extra: Mapping[str, Any]) -> Iterator[ToolCall]:
    found = [block for block in blocks if block.block_type == "tool_call"]
    for number, block in enumerate(found):
        given = block.tool_kwargs
        arguments = given if isinstance(given, str) else json_text(given)
        yield ToolCall(id=block.tool_call_id or f"unnamed_{number}", name=block.tool_name, arguments=arguments)
    for call in () if found else extra.get("tool_calls") or ():
        fields = mapping(call if isinstance(call, Mapping) else call.model_dump()) or {}
        function = mapping(fields.get("function")) or {}
        if function:
            arguments = str(function.get("arguments") or "{}")
            yield ToolCall(id=str(fields.get("id") or ""), name=str(function.get("name") or ""), arguments=arguments)


def _llama_file(block: Any) -> dict[str, Any] | None:
    """A picture, a sound or a document; None for any other block. What only a path names isn't read."""
    kind = block.block_type
    if kind not in ("image", "audio", "video", "document"):
        return None
    data, url = getattr(block, "data" if kind == "document" else kind, None), getattr(block, "url", None)
    media = f"audio/{block.format or 'wav'}" if kind == "audio" else getattr(block, f"{kind}_mimetype", None) or _UNTOLD[kind]
    if isinstance(data, bytes) and data:  # LlamaIndex keeps them as base64
        return _file(media, base64.b64decode(data))
    if url is None:
        return None
    name = f"{kind}_url"
    return {"type": name, name: {"url": str(url)}}


# A request of Pydantic AI's holds several parts, and each of them is a message of a provider's. A response is one
# message.


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


# Joins the pieces of one message of the Messages API, which coding agents' transcripts and SDKs give block by block.
# Each piece has the message's id. Tool results between two pieces are put behind the joined message.


class MessagePiece(NamedTuple):
    """A message, or a piece of one, in the shape of the Messages API. `key` is the same for all pieces of a message, None for
    what is no piece; `where` is its place."""

    fields: Mapping[str, Any]
    key: tuple[str, str] | None = None
    where: Any = None


def joined(pieces: Iterable[MessagePiece]) -> Iterator[MessagePiece]:
    """Yields the messages in order, with the place of their first piece. Holds one message and the results behind it."""
    open: MessagePiece | None = None
    results = list[MessagePiece]()
    for piece in pieces:
        if open is not None and piece.key is not None and piece.key == open.key:
            _add(open.fields["content"], piece.fields["content"])
        elif open is not None and piece.key is None and _only_results(piece.fields):
            results.append(piece)
        else:
            if open is not None:
                yield open
            yield from results
            open, results = None, []
            if piece.key is None:
                yield piece
            else:
                open = piece._replace(fields={**piece.fields, "content": list(piece.fields["content"])})
    if open is not None:
        yield open
    yield from results


def joined_messages(raws: Iterable[Raw]) -> Iterator[Raw]:
    """Yields a caller's messages with the pieces joined; the same objects where they are no pieces. Takes each message once."""
    pieces = (MessagePiece(raw if type(raw) is dict else {}, _key(raw), raw) for raw in raws)
    yield from (piece.where if piece.key is None or _is_whole(piece) else piece.fields for piece in joined(pieces))


def _is_whole(piece: MessagePiece) -> bool:
    return len(piece.fields["content"]) == len(piece.where["content"])


def _key(raw: Raw) -> tuple[str, str] | None:
    if type(raw) is not dict or raw.get("type") != "message" or raw.get("role") != "assistant":
        return None
    id = raw.get("id")
    return ("", id) if isinstance(id, str) and id and isinstance(raw.get("content"), list) else None


def _add(before: list[Any], after: list[Any]) -> None:
    """Adds the blocks of a piece to those before. Of one that was given again, or that begins with all that came before, only
    what is new."""
    if len(after) >= len(before) and after[: len(before)] == before:
        before += after[len(before) :]
    elif before[-len(after) :] != after:
        before += after


def _only_results(fields: Mapping[str, Any]) -> bool:
    content = fields.get("content")
    if fields.get("role") == "tool":
        return True
    blocks = [mapping(block) or {} for block in content] if isinstance(content, list) else []
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)
