"""Gemini check: the requests that the generateContent API would refuse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from germane.dialects.envelope import mapping
from germane.types.message import Wire

__all__ = ["NAME", "either", "problems"]

_SNAKE = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
}
_KINDS = (*_SNAKE, "executableCode", "codeExecutionResult", "executable_code", "code_execution_result", "text")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


def either(part: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Returns the object under `key` (camelCase) or under its snake_case spelling; None where there is none."""
    value = part.get(key)
    return mapping(part.get(_SNAKE[key]) if value is None else value)


def problems(wire: Wire) -> tuple[str, ...]:
    """See `Dialect.problems`."""
    found: list[str] = []
    if not wire.messages:
        found.append("no contents")
    elif wire.messages[0].get("role") != "user":
        found.append("the first turn isn't the user's")
    if isinstance(wire.system, str) and not wire.system.strip():
        found.append("the system instruction is empty")
    if isinstance(wire.system, list):
        if not wire.system:
            found.append("the system instruction has no parts")
        found += ("a part of the system instruction isn't text, or empty" for part in wire.system if not part.get("text"))
    waiting: list[Mapping[str, Any]] = []
    for index, message in enumerate(wire.messages):
        if (role := message.get("role")) not in ("user", "model"):
            found.append(f"turn {index}: unknown role {role!r}")
        found += (f"turn {index}: unknown key {key!r}" for key in message if key not in ("role", "parts"))
        parts = message.get("parts")
        if not isinstance(parts, list | tuple) or not parts:
            found.append(f"turn {index}: no parts")
            parts = ()
        read = [mapping(part) or {} for part in parts]
        found += (f"turn {index}: {problem}" for part in read for problem in _part(part, role))
        answers = [answer for part in read if (answer := either(part, "functionResponse")) is not None]
        if Counter(map(_name, answers)) != Counter(map(_name, waiting)):
            found.append(
                f"turn {index}: responses {[*map(_name, answers)]} for the calls {[*map(_name, waiting)]} right before"
            )
        ids = Counter(call["id"] for call in waiting if call.get("id"))
        if (given := Counter(answer["id"] for answer in answers if answer.get("id"))) - ids:
            found.append(f"turn {index}: responses with ids no call has: {sorted(given - ids)}")
        waiting = [call for part in read if (call := either(part, "functionCall")) is not None]
    if waiting:
        found.append(f"calls at the end without a response: {[*map(_name, waiting)]}")
    return tuple(found)


def _name(function: Mapping[str, Any]) -> str:
    return str(function.get("name", ""))


def _part(part: Mapping[str, Any], role: object) -> Iterable[str]:
    kinds = [key for key in _KINDS if part.get(key) is not None or part.get(_SNAKE.get(key, key)) is not None]
    if len(kinds) != 1:
        yield f"a part must hold one thing, not {kinds or 'nothing'}"
    if part.get("text") == "" and len(part) == 1:
        yield "an empty text"
    for key, only in (("functionCall", "model"), ("functionResponse", "user")):
        function = either(part, key)
        if function is None:
            continue
        if role != only:
            yield f"a {key} can't stand in a turn of role {role}"
        if not NAME.fullmatch(_name(function)):
            yield f"the name of a {key} isn't of the form the API takes"
        if not isinstance(function.get("args" if key == "functionCall" else "response", {}), Mapping):
            yield f"{key} {_name(function)}: arguments or response are no object"
    for key in ("inlineData", "fileData"):
        blob = either(part, key)
        if blob is not None and not (blob.get("mimeType") or blob.get("mime_type")):
            yield f"{key} without a media type"
