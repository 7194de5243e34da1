"""OpenAIChat: the chat completions API, with system messages among the others and each tool result a message.

The parser also accepts `developer` (as system), the older `function_call` and role `function`, custom tools, and refusals
(as text).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from germane.dialects.anthropic_check import is_own
from germane.dialects.dialect import Fault, OutgoingMessage
from germane.dialects.fields import (
    image_note,
    json_text,
    mapping,
    read_envelope,
    read_role,
    tool_name,
    type_name,
    without_keys,
)
from germane.dialects.media import attachment, data_url
from germane.dialects.opaque import as_result, opaque
from germane.dialects.openai_content import has_part, joined_answers, read_content
from germane.dialects.pairing import pair_calls
from germane.errors import InvalidInput
from germane.text.normal import valid_unicode
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Wire

ROLES: Mapping[str, Role] = MappingProxyType(
    {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool", "developer": "system", "function": "tool"}
)
_OWN_ROLES = ("developer", "tool", "function")
_OWN_KEYS = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio")
_OWN_PARTS = ("image_url", "input_audio", "file", "refusal", "audio_url", "document_url", "video_url")
"""Types of parts that only the chat API has, or gateways to it."""
_NO_CALLS: tuple[object, ...] = (None, [], ())
_FOREIGN_TEXTS = ("input_text", "output_text")


class OpenAIChat:
    """Implements `Dialect`."""

    name = "openai"

    def speaks(self, raw: Mapping[str, Any]) -> bool:
        if raw.get("role") in _OWN_ROLES or any(key in raw for key in _OWN_KEYS):
            return True
        return has_part(raw.get("content"), _OWN_PARTS)

    def parse(self, raw: Mapping[str, Any]) -> Message:
        role = ROLES[read_role(raw, ROLES)]
        content = raw.get("content")
        if role == "tool":
            call_id = raw.get("tool_call_id")
            text, others = (content, ()) if isinstance(content, str) else as_result(read_content(content))
            result = ToolResult(
                call_id=call_id if isinstance(call_id, str) else "",
                text=text,
                name=raw["name"] if isinstance(raw.get("name"), str) else "",
            )
            return Message(role=role, parts=(result, *others), **read_envelope(raw))
        parts = read_content(content)
        if role == "assistant":
            parts = (*parts, *_answers(raw))
        return Message(role=role, parts=parts, **read_envelope(raw))

    def native(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        content, role = raw.get("content"), raw.get("role")
        if isinstance(content, list | tuple):
            parts = [mapping(part) for part in content]
            if not parts or any(part is None or part.get("type") in _FOREIGN_TEXTS for part in parts):
                return None
        elif content is None and not (role == "assistant" and any(raw[key] for key in raw if key not in MESSAGE_KEYS)):
            return None
        if not raw.get({"tool": "tool_call_id", "function": "name"}.get(str(role), "role")):
            return None
        if raw.get("tool_calls") not in _NO_CALLS and not _are_calls(raw["tool_calls"]):
            return None
        raw = without_keys(raw, ("id", "created_at") if raw.get("tool_calls") else ("id", "created_at", "tool_calls"))
        name = raw.get("name")
        if name is not None and not (isinstance(name, str) and NAME.fullmatch(name)):
            raw = without_keys(raw, ("name",))
            raw = {**raw, "name": fit} if (fit := _name(name)) else raw
        return raw

    def mask(self, raw: Mapping[str, Any], lines: Mapping[int, str]) -> Mapping[str, Any]:
        line = lines.get(0)
        if line is None or raw.get("role") not in ("tool", "function"):
            return raw
        content = raw.get("content")
        parts = [mapping(part) or {} for part in content] if isinstance(content, list | tuple) else []
        mark = next((part["cache_control"] for part in reversed(parts) if "cache_control" in part), None)
        marked = [{"type": "text", "text": line, "cache_control": mark}]
        return {**raw, "content": line if mark is None else marked}

    def render(self, messages: Sequence[Message]) -> Wire:
        return self.compose([OutgoingMessage(message=message) for message in messages])

    def compose(self, turns: Sequence[OutgoingMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Wire:
        out, runs = list[Any](), dict[int, list[Mapping[str, Any]]]()
        for turn in pair_calls(turns, fits=_fits, lenient=True):
            if turn.joins and "function_call" not in (turn.native or ()):
                own = turn.native if turn.native is not None else _write_parts(turn.message)
                runs.setdefault(len(out) - 1, [out[-1]]).append(own)
                continue
            if turn.native is not None:
                out += [_text(turn.late)] if turn.late else []
                out.append(turn.native)
                continue
            results = turn.message.tool_results
            out += [{"role": "tool", "tool_call_id": each.call_id, "content": valid_unicode(each.text)} for each in results]
            out += [_text(turn.late)] if turn.late else []
            if not results or len(results) < len(turn.message.parts):
                out.append(_write_parts(turn.message))
        for index, answers in runs.items():
            out[index] = joined_answers(answers)
        return Wire(messages=out)

    def faults(self, wire: Wire) -> tuple[Fault, ...]:
        return tuple(faults(wire))

    def problems(self, wire: Wire) -> tuple[str, ...]:
        return tuple(fault.text for fault in faults(wire))


def _fits(call_id: str) -> bool:
    return 0 < len(call_id) <= 40


def _are_calls(given: object) -> bool:
    """Returns whether the API accepts `given` as the tool calls of a message."""
    return isinstance(given, list | tuple) and not any(map(_is_invalid, given))


def _is_invalid(call: object) -> bool:
    """Returns whether the API would refuse the tool call as it is."""
    fields = mapping(call)
    if fields is None or not isinstance(fields.get("id"), str) or not fields["id"]:
        return True
    function = mapping(fields.get("function"))
    return function is not None and not (
        isinstance(function.get("arguments"), str) and FUNCTION.fullmatch(str(function.get("name")))
    )


def _answers(raw: Mapping[str, Any]) -> list[Part]:
    """Reads what an assistant's message holds beside its content: refusal, spoken answer, tool calls."""
    parts: list[Part] = []
    if isinstance(refusal := raw.get("refusal"), str) and refusal:
        parts.append(Text(refusal))
    if (audio := mapping(raw.get("audio"))) is not None:
        parts.append(opaque("openai:audio", audio))
    calls = raw.get("tool_calls")
    if calls is not None and not isinstance(calls, list | tuple):
        raise InvalidInput(f"is {type_name(calls)}", path="tool_calls", advice="give a list")
    parts += [_call(call, index) for index, call in enumerate(calls or ())]
    if (function := mapping(raw.get("function_call"))) is not None:
        name = function.get("name")
        parts.append(ToolCall(id="", name=str(name or ""), arguments=json_text(function.get("arguments") or "{}")))
    return parts


def _call(value: object, index: int) -> ToolCall:
    raw = mapping(value)
    function = None if raw is None else mapping(raw.get("function"))
    custom = None if raw is None else mapping(raw.get("custom"))
    if raw is None or (function is None and custom is None):
        raise InvalidInput(
            "has no function", path=f"tool_calls[{index}]", advice="give {'id': …, 'type': 'function', 'function': {…}}"
        )
    id = raw.get("id")
    id = id if isinstance(id, str) else ""
    if function is None:
        fields = custom or {}
        return ToolCall(id=id, name=str(fields.get("name") or ""), arguments=json_text({"input": fields.get("input")}))
    arguments = function.get("arguments")
    return ToolCall(id=id, name=str(function.get("name") or ""), arguments="{}" if arguments is None else json_text(arguments))


def _text(text: str) -> dict[str, Any]:
    """What is remembered, in the user's role: the operator's is for the directive alone (INJECT-9)."""
    return {"role": "user", "content": valid_unicode(text)}


def _write_parts(message: Message) -> dict[str, Any]:
    role = "user" if message.role == "tool" else message.role
    parts = [part for each in message.parts if (part := _write_part(each, role)) is not None]
    calls = [_written_call(call) for call in message.tool_calls]
    content: str | list[dict[str, Any]] | None = parts
    if all(part["type"] == "text" for part in parts) and len(parts) < 2:
        content = parts[0]["text"] if parts else None if calls else ""
    out: dict[str, Any] = {"role": role, "content": content}
    if name := _name(message.name):
        out["name"] = name
    if calls:
        out["tool_calls"] = calls
    return out


def _write_part(part: Part, role: str) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return {"type": "text", "text": valid_unicode(text)}
        case Image(url=url) if url and role == "user" and (data_url(url) or url.startswith(("https://", "http://"))):
            detail = {"detail": part.detail} if part.detail in ("low", "high") else {}
            return {"type": "image_url", "image_url": {"url": valid_unicode(url), **detail}}
        case Image():
            return {"type": "text", "text": valid_unicode(image_note(part))}
        case Opaque(kind=kind) if kind.startswith("openai:") and role == "user" and part.raw.get("type") in _OWN_PARTS:
            return dict(part.raw)
        case Opaque():
            return _write_attachment(part, role)
    return None


def _write_attachment(part: Opaque, role: str) -> dict[str, Any] | None:
    """Writes another provider's attachment, as a note where the API has no part for it; None for a part that is no
    attachment."""
    held = attachment(part)
    if held is None:
        return None
    format = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}.get(held.media_type)
    if held.data and format and role == "user":
        return {"type": "input_audio", "input_audio": {"data": held.data, "format": format}}
    if held.data and held.media_type == "application/pdf" and role == "user":
        file = {"filename": valid_unicode(held.name) or "document.pdf", "file_data": f"data:application/pdf;base64,{held.data}"}
        return {"type": "file", "file": file}
    return {"type": "text", "text": valid_unicode(held.note)}


def _written_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": tool_name(call.name), "arguments": valid_unicode(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _name(name: object) -> str:
    """Returns a speaker's name as the API accepts it: at most 64 characters, none of them a space or one of `< | \\ / >`."""
    if not isinstance(name, str):
        return ""
    return "".join("_" if char.isspace() or char in "<|\\/>" or "\ud800" <= char <= "\udfff" else char for char in name)[:64]


# The requests that the API would refuse.


NAME = re.compile(r"[^\s<|\\/>\ud800-\udfff]{1,64}")
FUNCTION = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_PARTS: Mapping[str, frozenset[str]] = {
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text", "image_url", "input_audio", "file"}),
}
"""The parts of each role; gateways take those of the user's in results too."""
_TEXT_ONLY = frozenset({"text"})
MESSAGE_KEYS = ("role", "content", "id", "name", "created_at")
"""Keys of any message; the assistant's may have others in place of content, such as calls, or a gateway's reasoning."""
_OF_OTHERS = frozenset({"input_text", "output_text", "input_image", "input_file"})
"""Types of parts that other APIs have, beside Anthropic's."""


def faults(wire: Wire) -> Iterator[Fault]:
    """Yields the reasons for which the API would refuse the request."""
    if not wire.messages:
        yield Fault("no-messages", None, "no messages")
    if wire.system is not None:
        yield Fault("system-place", None, "system stands apart: it belongs among the messages")
    waiting: set[str] = set()
    for index, message in enumerate(wire.messages):
        role = message.get("role")
        if role != "tool" and waiting:
            text = f"message {index}: tool calls before it without a result: {sorted(waiting)}"
            yield Fault("call-without-result", index, text)
            waiting = set()
        if role not in _ROLES:
            yield Fault("role", index, f"message {index}: unknown role {role!r}")
            continue
        for rule, text in _envelope(message, role):
            yield Fault(rule, index, f"message {index}: {text}")
        if role == "tool":
            if (id := message.get("tool_call_id")) in waiting:
                waiting.discard(id)
            else:
                text = f"message {index}: tool result without its call right before: {id!r}"
                yield Fault("result-without-call", index, text)
        if role == "assistant" and "tool_calls" in message:
            waiting, wrong = _calls(message["tool_calls"])
            for rule, text in wrong:
                yield Fault(rule, index, f"message {index}: {text}")
    if waiting:
        yield Fault("call-without-result", None, f"tool calls at the end without a result: {sorted(waiting)}")


def _envelope(message: Mapping[str, Any], role: str) -> Iterator[tuple[str, str]]:
    """Yields a rule and a sentence for each fault of the message in itself."""
    for key in ("id", "created_at"):
        if key in message:
            yield "key", f"unknown key {key!r}"
    if role != "assistant" and "tool_calls" in message:
        yield "call-place", f"tool calls can't stand in a message of role {role}"
    name = message.get("name")
    if name is not None and not (isinstance(name, str) and NAME.fullmatch(name)):
        yield "name", "name isn't of the form the API takes"
    yield from _content(message, role)


def _content(message: Mapping[str, Any], role: str) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    if content is None:
        if role != "assistant" or not any(message[key] for key in message if key not in MESSAGE_KEYS):
            yield "no-content", "no content"
    elif isinstance(content, list | tuple):
        if not content:
            yield "no-content", "content is an empty list"
        allowed = _PARTS.get(role, _TEXT_ONLY)
        for part in map(mapping, content):
            if part is None or not _may_stand(part, allowed):
                yield "part-type", f"a part of type {part and part.get('type')!r} can't stand in a message of role {role}"
            elif part["type"] == "text" and not isinstance(part.get("text"), str):
                yield "part-shape", "a text part without text"
            elif part["type"] == "image_url":
                held = part.get("image_url")
                url = held if isinstance(held, str) else (mapping(held) or {}).get("url")
                if not isinstance(url, str) or not url.startswith(("data:image/", "https://", "http://")):
                    yield "part-shape", "an image without a URL the API can read"
    elif not isinstance(content, str):
        yield "content-type", f"content is {type(content).__name__}"


def _may_stand(part: Mapping[str, Any], allowed: frozenset[str]) -> bool:
    """Returns whether the part may stand in a message with these of OpenAI's parts. A part of an unknown type may: gateways
    take more than OpenAI does."""
    kind = part.get("type")
    known = any(kind in kinds for kinds in _PARTS.values()) or kind in _OF_OTHERS
    return isinstance(kind, str) and (kind in allowed or not (known or is_own(part)))


def _calls(calls: Any) -> tuple[set[str], list[tuple[str, str]]]:
    ids: set[str] = set()
    wrong: list[tuple[str, str]] = [] if calls else [("no-calls", "tool_calls is empty")]
    for call in map(mapping, calls or ()):
        id = (call or {}).get("id")
        if call is None or not isinstance(id, str) or not 0 < len(id) <= 40:
            wrong.append(("call-id", f"a tool call without a fitting id: {id!r}"))
            continue
        if id in ids:
            wrong.append(("duplicate-call-id", f"two tool calls with the id {id!r}"))
        ids.add(id)
        if call.get("type", "function") == "function":
            function = mapping(call.get("function")) or {}
            if not FUNCTION.fullmatch(str(function.get("name", ""))):
                wrong.append(("call-name", f"tool call {id!r}: the function's name isn't of the form the API takes"))
            if not isinstance(function.get("arguments"), str):
                wrong.append(("arguments", f"tool call {id!r}: arguments aren't text"))
    return ids, wrong
