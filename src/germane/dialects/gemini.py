"""Gemini: the generateContent API, with roles `user` and `model` and all content in `parts`; call ids optional.

The parser also accepts the roles `assistant` (as model) and `function` (as the user's results), a missing role (the
user's), snake_case keys, `content` in place of `parts`, and system messages among the others; these are sent in the system
instruction.
"""

from __future__ import annotations

import mimetypes
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from germane.dialects.dialect import Fault, OutgoingMessage
from germane.dialects.fields import (
    START,
    image_note,
    json_object,
    json_text,
    mapping,
    only_keys,
    read_envelope,
    read_role,
    tool_name,
    type_name,
    without_keys,
)
from germane.dialects.media import attachment, data_url, image_size
from germane.dialects.opaque import opaque
from germane.dialects.pairing import ProviderMessage, close_orphans, join_behind_calls, merge_by_role, pair_calls
from germane.errors import InvalidInput
from germane.text.normal import valid_unicode
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Wire

ROLES: Mapping[str, Role] = MappingProxyType(
    {"user": "user", "model": "assistant", "assistant": "assistant", "function": "user", "system": "system"}
)
_MAX_NAME_CHARS = 128


class Gemini:
    """Implements `Dialect`."""

    name = "gemini"

    def speaks(self, raw: Mapping[str, Any]) -> bool:
        return ("parts" in raw and raw.get("content") is None) or raw.get("role") == "model"

    def parse(self, raw: Mapping[str, Any]) -> Message:
        role = ROLES[read_role(raw if "role" in raw or "parts" not in raw else {"role": "user"}, ROLES)]
        parts = raw.get("parts", raw.get("content"))
        if isinstance(parts, str):
            return Message(role=role, parts=(Text(parts),) if parts else (), **read_envelope(raw))
        if parts is not None and not isinstance(parts, list | tuple):
            raise InvalidInput(f"is {type_name(parts)}", path="parts", advice="give a list of parts")
        read = tuple(each for index, part in enumerate(parts or ()) for each in (_read_part(part, index), *_inside(part)))
        if role == "user" and parts and all(map(_is_response, parts)):
            role = "tool"
        return Message(role=role, parts=read, **read_envelope(raw))

    def native(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        parts = raw.get("parts")
        if raw.get("role") not in (*ROLES_TAKEN, "system") or not isinstance(parts, list | tuple):
            return None
        read = [mapping(part) for part in parts]
        full = [part for part in read if part is not None and part and dict(part) != {"text": ""}]
        if not full or None in read or any(map(_is_invalid, full)):
            return None
        raw = only_keys(raw, ("role", "parts"))
        return raw if len(full) == len(read) else {**raw, "parts": full}

    def mask(self, raw: Mapping[str, Any], lines: Mapping[int, str]) -> Mapping[str, Any]:
        key = "parts" if "parts" in raw else "content"
        given = raw.get(key)
        if not isinstance(given, list | tuple):
            return raw
        parts, number, changed = list[Any](), 0, False
        for part in given:
            fields = mapping(part) or {}
            if either(fields, "functionCall") is None and (answer := either(fields, "functionResponse")) is not None:
                if (line := lines.get(number)) is not None:
                    part, changed = _masked(fields, answer, line), True
                number += 1
            parts.append(part)
        return {**raw, key: parts} if changed else raw

    def render(self, messages: Sequence[Message]) -> Wire:
        return self.compose([OutgoingMessage(message=message) for message in messages])

    def compose(self, turns: Sequence[OutgoingMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Wire:
        spoken = [turn for turn in turns if turn.message.role != "system"]
        written = [_write_message(turn) for turn in join_behind_calls(pair_calls(spoken))]
        messages = merge_by_role(written, "parts", [{"text": START}])
        own = {id(turn.native) for turn in spoken}
        for index in unsigned(messages):
            if id(messages[index]) not in own:
                messages[index] = {**messages[index], "parts": _vouched(messages[index]["parts"])}
        return Wire(messages=messages, system=_system_instruction([turn for turn in turns if turn.message.role == "system"]))

    def faults(self, wire: Wire) -> tuple[Fault, ...]:
        return tuple(faults(wire))

    def problems(self, wire: Wire) -> tuple[str, ...]:
        return tuple(fault.text for fault in faults(wire))


def _read_part(value: object, index: int) -> Part:
    if isinstance(value, str):
        return Text(value)
    raw = mapping(value)
    if raw is None:
        raise InvalidInput(f"is {type_name(value)}", path=f"parts[{index}]", advice="give a mapping such as {'text': …}")
    if (call := either(raw, "functionCall")) is not None:
        arguments = json_text(call.get("args") or {})
        return ToolCall(id=_string(call, "id"), name=_string(call, "name"), arguments=arguments, raw=_signed(raw))
    if (answer := either(raw, "functionResponse")) is not None:
        text, error = _response(answer.get("response"))
        return ToolResult(call_id=_string(answer, "id"), name=_string(answer, "name"), text=text, error=error)
    if "text" in raw and raw.get("thought") is not True:
        if not isinstance(raw["text"], str):
            raise InvalidInput(f"is {type_name(raw['text'])}", path=f"parts[{index}].text", advice="give a string")
        return Text(raw["text"], raw=_signed(raw))
    if (inline := either(raw, "inlineData")) is not None and _media(inline).startswith("image/"):
        return _inline(raw, inline)
    if (file := either(raw, "fileData")) is not None and _media(file).startswith("image/"):
        return Image(url=_string(file, "fileUri") or _string(file, "file_uri") or None, raw=raw)
    return opaque(f"gemini:{next((str(key)[:40] for key in raw if key != 'text'), 'empty')}", raw)


def _is_response(value: object) -> bool:
    raw = mapping(value)
    return raw is not None and either(raw, "functionCall") is None and either(raw, "functionResponse") is not None


def _inside(value: object) -> tuple[Part, ...]:
    """The images and files in a function's response."""
    raw = mapping(value) if _is_response(value) else None
    held = (either(raw, "functionResponse") or {}).get("parts") if raw is not None else None
    parts = (_read_part(part, index) for index, part in enumerate(held if isinstance(held, list | tuple) else ()))
    return tuple(part for part in parts if isinstance(part, Image | Opaque))


def _signed(raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return raw if signature(raw) else None


def _inline(raw: Mapping[str, Any], inline: Mapping[str, Any]) -> Image:
    data = inline.get("data")
    width, height = (image_size(data) if isinstance(data, str | bytes) else None) or (None, None)
    url = f"data:{_media(inline)};base64,{data}" if isinstance(data, str) else None
    return Image(width=width, height=height, url=url, raw=raw)


def _response(response: object) -> tuple[str, bool]:
    """Returns the text of a function's response, and whether it reports an error."""
    fields = mapping(response)
    if fields is not None and len(fields) == 1:
        (key, value), *_ = fields.items()
        if isinstance(value, str) and key in ("output", "result", "content", "error"):
            return value, key == "error"
    return json_text({} if response is None else response), fields is not None and "error" in fields


def _media(blob: Mapping[str, Any]) -> str:
    return _string(blob, "mimeType") or _string(blob, "mime_type")


def _is_invalid(part: Mapping[str, Any]) -> bool:
    """Returns whether the API would refuse the call or response as it is."""
    function = either(part, "functionCall") or either(part, "functionResponse")
    return function is not None and not NAME.fullmatch(_string(function, "name"))


def _masked(part: Mapping[str, Any], answer: Mapping[str, Any], line: str) -> dict[str, Any]:
    """Returns the part with the line as its response; an error stays one. The response's own images and files go."""
    key = "functionResponse" if part.get("functionResponse") is not None else "function_response"
    failed = _response(answer.get("response"))[1]
    return {**part, key: {**without_keys(answer, ("parts",)), "response": {"error" if failed else "output": line}}}


def _string(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _write_message(turn: OutgoingMessage) -> ProviderMessage:
    role = "model" if turn.message.role == "assistant" else "user"
    answers = bool(turn.message.tool_results)
    if turn.native is not None and not turn.late:
        return ProviderMessage(
            role=role, parts=list(turn.native["parts"]), native=turn.native, answers=answers, joins=turn.joins
        )
    parts = _write_parts(turn.message) if turn.native is None else list(turn.native["parts"])
    if turn.late:
        first = next((index for index, part in enumerate(parts) if either(part, "functionResponse") is None), len(parts))
        parts = [*parts[:first], {"text": valid_unicode(turn.late)}, *parts[first:]]
    return ProviderMessage(role=role, parts=parts, answers=answers)


def _write_parts(message: Message) -> list[Any]:
    """Writes a message's parts: results first, calls last, without empty texts."""
    order = sorted(message.parts, key=lambda part: -1 if isinstance(part, ToolResult) else isinstance(part, ToolCall))
    parts = [written for part in order if (written := _write_part(part)) is not None]
    return _vouched(parts) if any(_is_of_signed(part) for part in message.parts) else parts


def _is_of_signed(part: Part) -> bool:
    """Returns whether the part is a call that was signed, or what is left of it where it was closed as text."""
    return isinstance(part, ToolCall | Text) and part.raw is not None and either(part.raw, "functionCall") is not None


def _vouched(parts: list[Any]) -> list[Any]:
    """Returns the parts of a turn that germane wrote, with a first call that says that it is unsigned. The API demands a
    signature there, and has a word for where there is none (ai.google.dev, Thought signatures)."""
    first = next((n for n, part in enumerate(parts) if either(part, "functionCall") is not None), None)
    if first is None or signature(parts[first]):
        return parts
    return [*parts[:first], {**parts[first], "thoughtSignature": UNSIGNED}, *parts[first + 1 :]]


def _write_part(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text, raw=raw) if raw is not None and raw.get("text") == text:
            return dict(raw)
        case ToolCall(raw=raw) if raw is not None and (call := either(raw, "functionCall")) is not None:
            key = "functionCall" if raw.get("functionCall") is not None else "function_call"
            fit = {**call, "name": _name(part.name)}
            return dict(raw) if NAME.fullmatch(part.name) else {**raw, key: fit}
        case Text(text):
            return {"text": valid_unicode(text)} if text else None
        case ToolCall():
            id = {"id": valid_unicode(part.id)} if part.id else {}
            return {"functionCall": {**id, "name": _name(part.name), "args": json_object(part.arguments)}}
        case ToolResult():
            id = {"id": valid_unicode(part.call_id)} if part.call_id else {}
            response = {"error" if part.error else "output": valid_unicode(part.text)}
            return {"functionResponse": {**id, "name": _name(part.name), "response": response}}
        case Image():
            return _write_image(part) or {"text": valid_unicode(image_note(part))}
        case Opaque(kind=kind) if kind.startswith("gemini:"):
            return dict(part.raw) or None
        case Opaque():
            return _write_attachment(part)


def _name(name: str) -> str:
    """Returns the name itself where the API takes it; it takes more than others do, and a call and its result may be written
    apart."""
    return name if NAME.fullmatch(name) else tool_name(name, _MAX_NAME_CHARS)


def _write_image(image: Image) -> dict[str, Any] | None:
    if either(image.raw, "inlineData") or either(image.raw, "fileData"):
        return dict(image.raw)
    if image.url and (inline := data_url(image.url)) and inline[0].startswith("image/") and inline[1]:
        return {"inlineData": {"mimeType": inline[0], "data": inline[1]}}
    if image.url and image.url.startswith(("https://", "http://", "gs://")):
        media = mimetypes.guess_type(image.url.partition("?")[0])[0] or "image/jpeg"
        return {"fileData": {"mimeType": media, "fileUri": valid_unicode(image.url)}}
    return None


def _write_attachment(part: Opaque) -> dict[str, Any] | None:
    held = attachment(part)
    if held is None:
        return None
    if held.data:
        return {"inlineData": {"mimeType": held.media_type, "data": held.data}}
    if held.url:
        return {"fileData": {"mimeType": held.media_type, "fileUri": valid_unicode(held.url)}}
    return {"text": valid_unicode(held.note)}


def _system_instruction(turns: Sequence[OutgoingMessage]) -> str | list[dict[str, Any]] | None:
    """Returns all system texts in order: as one string, or as a list of parts where the caller's system has parts."""
    pieces: list[Any] = []
    listed = False
    for turn in turns:
        if turn.native is not None:
            listed = True
            pieces += turn.native["parts"]
        elif (text := close_orphans(turn).message.text).strip():
            pieces.append({"text": valid_unicode(text)})
    return pieces if listed else "\n\n".join(part["text"] for part in pieces) or None


# The requests that the API would refuse.


UNSIGNED = "skip_thought_signature_validator"
"""Stands in the place of the signature of a call that the model didn't sign."""

_SNAKE = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
}
_KINDS = (*_SNAKE, "executableCode", "codeExecutionResult", "executable_code", "code_execution_result", "text")
ROLES_TAKEN = ("user", "model", "function", None)
"""The API takes a turn without a role as the user's, and results as a function's."""
_BESIDE = ("videoMetadata", "video_metadata", "mediaResolution", "media_resolution", "partMetadata", "part_metadata")
"""Objects that a part may hold beside its one thing. Another object is a thing that a later version takes."""
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


def either(part: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Returns the object under `key` (camelCase) or under its snake_case spelling; None where there is none."""
    value = part.get(key)
    return mapping(part.get(_SNAKE[key]) if value is None else value)


def signature(part: Mapping[str, Any]) -> object:
    """Returns the part's signature under either spelling; something false where it has none."""
    return part.get("thoughtSignature") or part.get("thought_signature")


def faults(wire: Wire) -> Iterator[Fault]:
    """Yields the reasons for which the API would refuse the request."""
    if not wire.messages:
        yield Fault("no-messages", None, "no contents")
    elif wire.messages[0].get("role") not in ("user", None):
        yield Fault("first-turn", 0, "the first turn isn't the user's")
    for rule, text in _system_faults(wire.system):
        yield Fault(rule, None, text)
    waiting: list[Mapping[str, Any]] = []
    for index, message in enumerate(wire.messages):
        wrong: list[tuple[str, str]] = []
        if (role := message.get("role")) not in ROLES_TAKEN:
            wrong.append(("role", f"unknown role {role!r}"))
        wrong += (("key", f"unknown key {key!r}") for key in message if key not in ("role", "parts"))
        parts = message.get("parts")
        if not isinstance(parts, list | tuple) or not parts:
            wrong.append(("no-content", "no parts"))
            parts = ()
        read = [mapping(part) or {} for part in parts]
        wrong += (fault for part in read for fault in _part_faults(part, role))
        wrong += _answers([answer for part in read if (answer := either(part, "functionResponse")) is not None], waiting)
        waiting = [call for part in read if (call := either(part, "functionCall")) is not None]
        for rule, text in wrong:
            yield Fault(rule, index, f"turn {index}: {text}")
    if waiting:
        yield Fault("call-without-result", None, f"calls at the end without a response: {[*map(_is_name, waiting)]}")
    for index in unsigned(wire.messages):
        yield Fault("signature-missing", index, f"turn {index}: its first call has lost its signature")


def _answers(answers: Sequence[Mapping[str, Any]], waiting: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    given, asked = Counter(map(_is_name, answers)), Counter(map(_is_name, waiting))
    if given != asked:
        rule = "result-without-call" if given >= asked else "call-without-result"
        yield rule, f"responses {[*map(_is_name, answers)]} for the calls {[*map(_is_name, waiting)]} right before"
    ids = Counter(call["id"] for call in waiting if call.get("id"))
    if (more := Counter(answer["id"] for answer in answers if answer.get("id"))) - ids:
        yield "call-id", f"responses with ids no call has: {sorted(more - ids)}"


def unsigned(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Returns the indexes of the model's turns since the user's last words whose first call is unsigned, where that of another
    is signed. The API checks no earlier turns; a conversation without any signature is one of an older model."""
    first: dict[int, bool] = {}
    for index in range(len(messages) - 1, -1, -1):
        given = messages[index].get("parts")
        parts = [mapping(part) or {} for part in given] if isinstance(given, list | tuple) else []
        if messages[index].get("role") != "model" and any(either(part, "functionResponse") is None for part in parts):
            break
        call = next((part for part in parts if either(part, "functionCall") is not None), None)
        if call is not None:
            first[index] = bool(signature(call))
    return sorted(index for index, signed in first.items() if not signed) if any(first.values()) else []


def _is_name(function: Mapping[str, Any]) -> str:
    return str(function.get("name", ""))


def _part_faults(part: Mapping[str, Any], role: object) -> Iterator[tuple[str, str]]:
    kinds = [key for key in _KINDS if part.get(key) is not None or part.get(_SNAKE.get(key, key)) is not None]
    if len(kinds) > 1 or (not kinds and not any(key not in _BESIDE and isinstance(part[key], Mapping) for key in part)):
        yield "part-shape", f"a part must hold one thing, not {kinds or 'nothing'}"
    if part.get("text") == "" and len(part) == 1:
        yield "empty-text", "an empty text"
    for key, only in (("functionCall", "model"), ("functionResponse", "user")):
        function = either(part, key)
        if function is None:
            continue
        if (role == "model") != (only == "model"):
            yield "part-type", f"a {key} can't stand in a turn of role {role}"
        if not NAME.fullmatch(_is_name(function)):
            yield "call-name", f"the name of a {key} isn't of the form the API takes"
        if not isinstance(function.get("args" if key == "functionCall" else "response", {}), Mapping):
            yield "arguments", f"{key} {_is_name(function)}: arguments or response are no object"
    for key in ("inlineData", "fileData"):
        blob = either(part, key)
        if blob is not None and not (blob.get("mimeType") or blob.get("mime_type")):
            yield "part-shape", f"{key} without a media type"


def _system_faults(system: object) -> Iterator[tuple[str, str]]:
    if isinstance(system, str) and not system.strip():
        yield "system-empty", "the system instruction is empty"
    if isinstance(system, list):
        if not system:
            yield "system-empty", "the system instruction has no parts"
        for part in system:
            if not part.get("text"):
                yield "system-part", "a part of the system instruction isn't text, or empty"
