"""OpenAIResponses: OpenAI's Responses API, with `instructions` apart, and messages, calls and outputs as items.

A message is parsed from each item of the one list. Reasoning, references and the items of built-in tools travel through
unread, and so does an item of an unknown type. System messages at the start are sent in `instructions`; later ones and
developer messages stay items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from germane.dialects.dialect import Fault, OutgoingMessage
from germane.dialects.fields import (
    START,
    image_note,
    mapping,
    only_keys,
    read_envelope,
    read_role,
    tool_name,
    without_keys,
)
from germane.dialects.media import attachment, data_url
from germane.dialects.openai_chat import FUNCTION
from germane.dialects.openai_content import (
    KIND,
    OUTPUTS,
    OWN_PARTS,
    ROLES,
    call_id,
    has_part,
    is_message,
    known_item,
    masked_item,
    read_content,
    read_item,
)
from germane.dialects.responses_pairing import MAX_ID, continues, pair_items, windows
from germane.errors import InvalidInput
from germane.text.normal import valid_unicode
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult, Wire

_ITEM_IDS = ("msg_", "fc_", "fco_", "ctc_", "ctco_")


class OpenAIResponses:
    """Implements `Dialect`."""

    name = "openai-responses"

    def speaks(self, raw: Mapping[str, Any]) -> bool:
        kind = raw.get("type")
        if isinstance(kind, str) and kind != "message":
            return known_item(kind) and "parts" not in raw
        if raw.get("role") == "developer":
            return True
        return has_part(raw.get("content"), (*OWN_PARTS, "refusal"))

    def parse(self, raw: Mapping[str, Any]) -> Message:
        if is_message(raw) or not (isinstance(raw.get("type"), str) or set(raw) == {"id"}):
            if raw.get("role") is None and raw.get("type") != "message":
                known = ", ".join(ROLES)
                raise InvalidInput(
                    "is missing, and so is a type",
                    path="role",
                    advice=f"give a type such as 'function_call', or a role: {known}",
                )
            role = ROLES[read_role(raw, ROLES)]
            return Message(role=role, parts=read_content(raw.get("content")), **read_envelope(raw))
        envelope = read_envelope({key: raw[key] for key in ("id", "created_at") if key in raw})
        role, parts = read_item(raw)
        return Message(role=role, parts=parts, **envelope)

    def native(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        kind = raw.get("type")
        if not is_message(raw):
            if kind == "function_call":
                fits = isinstance(raw.get("arguments"), str) and FUNCTION.fullmatch(str(raw.get("name")))
                return _without_own_id(raw) if fits and call_id(raw) else None
            if kind == "function_call_output" and not isinstance(raw.get("output"), str | list | tuple):
                return None
            paired = isinstance(kind, str) and (kind in OUTPUTS or kind in OUTPUTS.values())
            return (_without_own_id(raw) if call_id(raw) else None) if paired else raw
        content, role = raw.get("content"), raw.get("role")
        if isinstance(content, list | tuple):
            kinds = [(mapping(part) or {}).get("type") for part in content]
            if not kinds or any(not part_fits(part_kind, str(role)) for part_kind in kinds):
                return None
        elif not isinstance(content, str):
            return None
        return only_keys(_without_own_id(raw), MESSAGE_KEYS) if kind in (None, "message") else raw

    def mask(self, raw: Mapping[str, Any], lines: Mapping[int, str]) -> Mapping[str, Any]:
        line = lines.get(0)
        return raw if line is None or is_message(raw) else masked_item(raw, line)

    def render(self, messages: Sequence[Message]) -> Wire:
        return self.compose([OutgoingMessage(message=message) for message in messages])

    def compose(self, turns: Sequence[OutgoingMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Wire:
        items = [*filter(_is_written, pair_items([*filter(_is_written, turns)]))]
        lead = next((index for index, item in enumerate(items) if not _is_instruction(item)), len(items))
        texts = [item.message.text for item in items[:lead]]
        items = items[lead:]
        late: dict[int, list[str]] = {}
        for place, item in zip(windows(items), items, strict=True):
            if item.late:
                late.setdefault(place, []).append(item.late)
        out: list[Any] = []
        for index, item in enumerate(items):
            out += ({"role": "user", "content": valid_unicode(text)} for text in late.get(index, ()))
            written = item.native if item.native is not None else _write(item.message)
            out += [] if written is None else [written]
        instructions = "\n\n".join(valid_unicode(text) for text in texts if text.strip())
        return Wire(messages=out or [{"role": "user", "content": START}], system=instructions or None)

    def faults(self, wire: Wire) -> tuple[Fault, ...]:
        return tuple(faults(wire))

    def problems(self, wire: Wire) -> tuple[str, ...]:
        return tuple(fault.text for fault in faults(wire))


def _is_instruction(turn: OutgoingMessage) -> bool:
    """Returns whether a message at the start belongs to `instructions`: it is a system message, and no item of parts or of the
    developer's that the caller wrote for this API."""
    if turn.message.role != "system" or turn.native is None:
        return turn.message.role == "system"
    return turn.native.get("role") == "system" and isinstance(turn.native.get("content"), str)


def _without_own_id(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the item without germane's keys: `created_at`, and an `id` that isn't the API's."""
    id = raw.get("id")
    if raw.get("type") == "local_shell_call_output" or (isinstance(id, str) and id.startswith(_ITEM_IDS)):
        return without_keys(raw, ("created_at",))
    ours = is_message(raw) or raw.get("type") in ("function_call", "function_call_output")
    return without_keys(raw, ("created_at", "id") if ours else ("created_at",))


def _is_written(turn: OutgoingMessage) -> bool:
    """Returns whether anything is left of the message in this API; an empty one of the user's or the assistant's stays."""
    message = turn.message
    if turn.native is not None or turn.late:
        return True
    if message.role != "system" and all(isinstance(part, Text) for part in message.parts):
        return True
    return any(
        isinstance(part, ToolCall | ToolResult)
        or (isinstance(part, Opaque) and part.kind.startswith(KIND))
        or (_write_part(part, message.role) is not None and not (message.role == "system" and _is_blank(part)))
        for part in message.parts
    )


def _is_blank(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _write(message: Message) -> dict[str, Any] | None:
    """Writes a message of one item, or one without tools; None where nothing is left of it."""
    match message.parts:
        case (ToolCall() as call,):
            name, arguments = tool_name(call.name), valid_unicode(call.arguments)
            return {"type": "function_call", "call_id": call.id, "name": name, "arguments": arguments}
        case (ToolResult() as result, *_):
            return {"type": "function_call_output", "call_id": result.call_id, "output": valid_unicode(result.text)}
        case (Opaque(kind=kind, raw=raw),) if kind.startswith(KIND):
            return dict(raw)
    parts = [part for each in message.parts if (part := _write_part(each, message.role)) is not None]
    if not parts:
        return None if message.parts else {"role": message.role, "content": ""}
    if len(parts) == 1 and parts[0]["type"] in ("input_text", "output_text"):
        return {"role": message.role, "content": parts[0]["text"]}
    return {"role": message.role, "content": parts}


def _write_part(part: Part, role: str) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return _text(text, role)
        case Image(url=url, raw=raw) if role == "user":
            if raw.get("type") == "input_image" and (raw.get("file_id") or raw.get("image_url")):
                return dict(raw)
            if url and (data_url(url) or url.startswith(("https://", "http://"))):
                return {"type": "input_image", "image_url": valid_unicode(url), "detail": _detail(part.detail)}
            return _text(image_note(part), role)
        case Image():
            return _text(image_note(part), role)
        case Opaque(kind="openai:input_file", raw=raw) if role == "user":
            return dict(raw)
        case Opaque():
            return _write_attachment(part, role)
    return None


def _write_attachment(part: Opaque, role: str) -> dict[str, Any] | None:
    """Writes another API's attachment, as a note where this one has no part for it; None for a part that is no attachment."""
    held = attachment(part)
    if held is None:
        return None
    if role == "user" and held.media_type == "application/pdf":
        if held.data:
            data = f"data:application/pdf;base64,{held.data}"
            return {"type": "input_file", "filename": valid_unicode(held.name) or "document.pdf", "file_data": data}
        if held.url.startswith("https://"):
            return {"type": "input_file", "file_url": valid_unicode(held.url)}
        if part.kind == "openai:file" and (id := (mapping(part.raw.get("file")) or {}).get("file_id")):
            return {"type": "input_file", "file_id": id}
    return _text(held.note, role)


def _text(text: str, role: str) -> dict[str, Any]:
    return {"type": "output_text" if role == "assistant" else "input_text", "text": valid_unicode(text)}


def _detail(detail: str) -> str:
    return detail if detail in ("low", "high", "original") else "auto"


# The requests that the API would refuse.


MESSAGE_KEYS = frozenset({"type", "role", "content", "id", "status", "phase"})
_INPUT = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_PARTS: Mapping[str, frozenset[str]] = {
    "user": _INPUT,
    "system": _INPUT,
    "developer": _INPUT,
    "assistant": frozenset({"output_text", "refusal"}),
}
"""The types of the parts that a message of each role may have."""
_FOREIGN = frozenset({"text", "image_url", "file", "image", "document", "thinking", "tool_use", "tool_result"})
"""Types of parts that other dialects have."""
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "function_call": ("call_id", "name", "arguments"),
    "custom_tool_call": ("call_id", "name", "input"),
    "function_call_output": ("call_id",),
    "custom_tool_call_output": ("call_id",),
}
_CALLS = {output: call for call, output in OUTPUTS.items()}


def part_fits(kind: object, role: str) -> bool:
    """Returns whether a part of this type, perhaps a later one, may stand in a message of this role."""
    if not isinstance(kind, str):
        return False
    known = any(kind in kinds for kinds in _PARTS.values())
    return kind not in _FOREIGN and (not known or kind in _PARTS.get(role, ()))


_UNFOLLOWED = "reasoning without the item that follows from it"


def faults(wire: Wire) -> Iterator[Fault]:
    """Yields the reasons for which the API would refuse the request."""
    if not wire.messages:
        yield Fault("no-messages", None, "no input")
    if wire.system is not None and not (isinstance(wire.system, str) and wire.system.strip()):
        yield Fault("system-empty", None, "instructions aren't text, or empty")
    unseen = continues([_kind(item) for item in wire.messages])
    waiting: dict[str, tuple[str, int]] = {}
    used: set[str] = set()
    named: set[str] = set()
    reasoning: int | None = None
    for index, item in enumerate(wire.messages):
        kind = _kind(item)
        if reasoning is not None and kind != "reasoning":
            if not _is_the_models(item, kind):
                yield Fault("reasoning-alone", reasoning, f"item {reasoning}: {_UNFOLLOWED}")
            reasoning = None
        for rule, text in _item(item, kind):
            yield Fault(rule, index, f"item {index}: {text}")
        own, id = item.get("id"), call_id(item)
        if isinstance(own, str) and own and kind != "local_shell_call_output":
            if own in named:
                yield Fault("duplicate-item-id", index, f"item {index}: an item's id used twice: {own!r}")
            named.add(own)
        if kind == "reasoning":
            reasoning = index
        elif kind in OUTPUTS:
            if id in used:
                yield Fault("duplicate-call-id", index, f"item {index}: a call's id used twice: {id!r}")
            used.add(id)
            waiting[id] = kind, index
        elif kind in _CALLS and waiting.pop(id, ("", 0))[0] != _CALLS[kind] and not (unseen and id not in used):
            yield Fault("result-without-call", index, f"item {index}: an output without its call: {id!r}")
    if reasoning is not None:
        yield Fault("reasoning-alone", reasoning, f"item {reasoning}: {_UNFOLLOWED}")
    for id, (_, index) in waiting.items():
        yield Fault("call-without-result", index, f"item {index}: a call without an output: {id!r}")


def _kind(item: Mapping[str, Any]) -> str:
    """Returns the item's type, for a message its role."""
    if is_message(item):
        return str(item.get("role"))
    return str(item.get("type") or "item_reference")


def _is_the_models(item: Mapping[str, Any], kind: str) -> bool:
    """Returns whether reasoning may stand before the item."""
    return kind == "assistant" or not (is_message(item) or kind in _CALLS)


def _item(item: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    if is_message(item):
        yield from _message(item)
        return
    if item.get("type") is None and set(item) != {"id"}:
        yield "item-type", "neither a role nor a type"
    for key in _REQUIRED.get(kind, ()):
        if not isinstance(item.get(key), str):
            yield "item-field", f"{kind} without {key} as text"
    if kind in _REQUIRED and not 0 < len(call_id(item)) <= MAX_ID:
        yield "call-id", f"{kind}: call_id isn't of the form the API takes"
    if kind == "function_call" and not FUNCTION.fullmatch(str(item.get("name"))):
        yield "call-name", "function_call: the name isn't of the form the API takes"
    if kind == "function_call_output" and not isinstance(item.get("output"), str | list | tuple):
        yield "content-type", "function_call_output: the output is neither text nor parts"
    if kind == "item_reference" and not isinstance(item.get("id"), str):
        yield "item-field", "item_reference without id"
    if kind == "compaction" and not isinstance(item.get("encrypted_content"), str):
        yield "item-field", "compaction without its encrypted content"


def _message(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        yield "role", f"unknown role {role!r}"
        return
    if item.get("type") in (None, "message"):
        for key in item:
            if key not in MESSAGE_KEYS:
                yield "key", f"unknown key {key!r}"
    if isinstance(content, list | tuple):
        if not content:
            yield "no-content", "content is an empty list"
        for part in map(mapping, content):
            kind = (part or {}).get("type")
            if part is None or not part_fits(kind, str(role)):
                yield "part-type", f"a part of type {kind!r} can't stand in a message of role {role}"
            elif kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
                yield "part-shape", "a text part without text"
            elif kind == "input_image" and not (part.get("image_url") or part.get("file_id")):
                yield "part-shape", "an image without image_url or file_id"
    elif content is None:
        yield "no-content", "content is NoneType"
    elif not isinstance(content, str):
        yield "content-type", f"content is {type(content).__name__}"
