"""Gemini check: the requests that the generateContent API would refuse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from germane.dialects.envelope import mapping
from germane.dialects.fault import Fault
from germane.types.message import Wire

__all__ = ["NAME", "ROLES_TAKEN", "UNSIGNED", "either", "faults", "signature", "unsigned"]

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
    for rule, text in _system(wire.system):
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
        wrong += (fault for part in read for fault in _part(part, role))
        wrong += _answers([answer for part in read if (answer := either(part, "functionResponse")) is not None], waiting)
        waiting = [call for part in read if (call := either(part, "functionCall")) is not None]
        for rule, text in wrong:
            yield Fault(rule, index, f"turn {index}: {text}")
    if waiting:
        yield Fault("call-without-result", None, f"calls at the end without a response: {[*map(_name, waiting)]}")
    for index in unsigned(wire.messages):
        yield Fault("signature-missing", index, f"turn {index}: its first call has lost its signature")


def _answers(answers: Sequence[Mapping[str, Any]], waiting: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    given, asked = Counter(map(_name, answers)), Counter(map(_name, waiting))
    if given != asked:
        rule = "result-without-call" if given >= asked else "call-without-result"
        yield rule, f"responses {[*map(_name, answers)]} for the calls {[*map(_name, waiting)]} right before"
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


def _name(function: Mapping[str, Any]) -> str:
    return str(function.get("name", ""))


def _part(part: Mapping[str, Any], role: object) -> Iterator[tuple[str, str]]:
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
        if not NAME.fullmatch(_name(function)):
            yield "call-name", f"the name of a {key} isn't of the form the API takes"
        if not isinstance(function.get("args" if key == "functionCall" else "response", {}), Mapping):
            yield "arguments", f"{key} {_name(function)}: arguments or response are no object"
    for key in ("inlineData", "fileData"):
        blob = either(part, key)
        if blob is not None and not (blob.get("mimeType") or blob.get("mime_type")):
            yield "part-shape", f"{key} without a media type"


def _system(system: object) -> Iterator[tuple[str, str]]:
    if isinstance(system, str) and not system.strip():
        yield "system-empty", "the system instruction is empty"
    if isinstance(system, list):
        if not system:
            yield "system-empty", "the system instruction has no parts"
        for part in system:
            if not part.get("text"):
                yield "system-part", "a part of the system instruction isn't text, or empty"
