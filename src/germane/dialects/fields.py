"""Fields: the fields and texts that all dialects share: role, `id`, `name`, time, names of tools, arguments.

`id` is the caller's (a string, or an integer that is read as one), `name` is the speaker's. `created_at` is a datetime, an
ISO 8601 string, or a number of seconds since 1970 (milliseconds from 10^11 on). Naive times stay naive: the scope knows
their zone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, TypedDict

from germane.errors import InvalidInput
from germane.text.normal import valid_unicode
from germane.types.message import Image, ToolCall, ToolResult
from germane.types.nested_data import dump

_MILLISECONDS_FROM = 1e11
"""Numbers from here on are milliseconds: as seconds they would lie after the year 5000."""


class Envelope(TypedDict, total=False):
    """The fields that a message has, as `Message` takes them."""

    id: str
    name: str
    created_at: datetime


def read_envelope(raw: Mapping[str, Any]) -> Envelope:
    """Returns those of `id`, `name` and `created_at` that the message has. Raises `InvalidInput` for one that can't be read."""
    found: Envelope = {}
    if (id := raw.get("id")) is not None and (id := _id(id)):
        found["id"] = id
    if (name := raw.get("name")) is not None:
        if not isinstance(name, str):
            raise InvalidInput(f"is {type_name(name)}", path="name", advice="give the speaker's name as a string")
        if name:
            found["name"] = name
    if (moment := raw.get("created_at")) is not None:
        found["created_at"] = _moment(moment)
    return found


def read_role(raw: Mapping[str, Any], roles: Mapping[str, Any]) -> str:
    """Returns the message's role, a key of `roles`. Raises `InvalidInput` where it is missing or unknown."""
    found = raw.get("role")
    if isinstance(found, str) and found in roles:
        return found
    known = ", ".join(roles)
    if found is None:
        raise InvalidInput("is missing", path="role", advice=f"give one of {known}")
    raise InvalidInput("{} is unknown", found, path="role", advice=f"give one of {known}")


def mapping(value: object) -> Mapping[str, Any] | None:
    """Returns `value` as a mapping: itself, or the dump of an SDK's (Pydantic) object; None for anything else."""
    if value is None or type(value) is dict or isinstance(value, Mapping):  # the last test takes ten times as long
        return value
    return dump(value)


def without_keys(raw: Mapping[str, Any], keys: tuple[str, ...]) -> Mapping[str, Any]:
    """Returns `raw` itself where it has none of `keys`, else a copy without them."""
    if any(key in raw for key in keys):
        return {key: value for key, value in raw.items() if key not in keys}
    return raw


def only_keys(raw: Mapping[str, Any], keys: Collection[str]) -> Mapping[str, Any]:
    """Returns `raw` itself where it has no other keys than these, else a copy without the others."""
    if all(key in keys for key in raw):
        return raw
    return {key: value for key, value in raw.items() if key in keys}


def type_name(value: object) -> str:
    """Returns the name of the value's type, for error messages."""
    return type(value).__name__


def _id(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidInput(f"is {type_name(value)}", path="id", advice="give a string")


def _moment(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    shown = str(value)[:40] if isinstance(value, str | int | float) else type_name(value)
    raise InvalidInput(
        "{} is not a time", shown, path="created_at", advice="give an ISO 8601 string, seconds since 1970 or a datetime"
    )


# Texts in the place of parts that a provider can't accept, and cleaning of text, names and arguments.


START = "[Conversation start]"
"""The user's message in front of a conversation that would begin with the model's."""

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def call_as_text(call: ToolCall) -> str:
    """Returns an orphaned call as text: no provider accepts a call without its result."""
    return f"[Tool call without a result: {call.name or 'unknown tool'}({call.arguments})]"


def result_as_text(result: ToolResult) -> str:
    """Returns an orphaned result as text: no provider accepts a result without its call."""
    return f"[Tool result{f' of {result.name}' if result.name else ''}: {result.text}]"


def image_note(image: Image) -> str:
    """Returns a text for an image that the provider can't accept: its address, unless that is a data URL."""
    return f"[image: {image.url}]" if image.url and not image.url.startswith("data:") else "[image]"


def tool_name(name: str, max_chars: int = 64) -> str:
    """Returns a tool's name as every provider accepts it: letters, digits, `_` and `-`, beginning with a letter or `_`."""
    fit = _UNFIT.sub("_", name) or "tool"
    return (fit if fit[0].isalpha() or fit[0] == "_" else f"_{fit}")[:max_chars]


def json_object(text: str) -> dict[str, Any]:
    """Returns arguments as an object. Text that isn't a JSON object is put under the key `arguments`."""
    try:
        value = json.loads(text or "{}", parse_constant=str)
    except (ValueError, RecursionError):
        return {"arguments": valid_unicode(text)}
    return value if isinstance(value, dict) else {"arguments": value}


def json_text(value: object) -> str:
    """Returns `value` as JSON; a string is taken to be JSON already and returned unchanged."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(value)[:100_000]
