"""Message JSON: a caller's message as plain JSON for an archive, and back. A dict stays a dict of the same content.

What JSON has no value for becomes a text: a time in ISO 8601, bytes in base64, an SDK's object its dump.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast

from germane.dialects.envelope import mapping
from germane.dialects.plain import plain
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult

__all__ = ["as_json", "from_json"]

_KEY = "germane"
_PARTS: Mapping[str, type[Part]] = MappingProxyType(
    {"text": Text, "image": Image, "tool_call": ToolCall, "tool_result": ToolResult, "opaque": Opaque}
)
_KINDS = {made: name for name, made in _PARTS.items()}
_DEEPEST = 64


def as_json(raw: Mapping[str, Any] | Message) -> Mapping[str, Any]:
    """Returns the message as JSON: itself where it is JSON already."""
    if isinstance(raw, Message):
        parts = [{"kind": _KINDS[type(part)], "fields": _plain(_fields(part), 0)} for part in raw.parts]
        said = None if raw.created_at is None else raw.created_at.isoformat()
        return {_KEY: "message", "role": raw.role, "parts": parts, "id": raw.id, "name": raw.name, "created_at": said}
    if plain(raw):
        return raw
    found = _plain(raw, 0)
    return found if isinstance(found, Mapping) else {}


def from_json(value: Mapping[str, Any]) -> Mapping[str, Any] | Message:
    """Returns what `as_json` was given, apart from values that JSON doesn't have."""
    if value.get(_KEY) != "message":
        return value
    parts = tuple(_PARTS[part["kind"]](**part["fields"]) for part in value["parts"])
    said = value.get("created_at")
    return Message(
        role=cast("Role", value["role"]),
        parts=parts,
        id=value.get("id"),
        name=value.get("name"),
        created_at=None if said is None else datetime.fromisoformat(said),
    )


def _fields(part: Part) -> dict[str, Any]:
    return {field.name: getattr(part, field.name) for field in fields(part)}


def _plain(value: Any, depth: int) -> Any:
    """Returns the value as JSON; the same object where it is JSON already, as most are."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth > _DEEPEST:
        return str(value)[:1_000]
    if type(value) is dict:
        made = {key if isinstance(key, str) else str(key): _plain(item, depth + 1) for key, item in value.items()}
        return value if _same(value, made) else made
    if type(value) is list:
        items = [_plain(item, depth + 1) for item in value]
        return value if all(one is other for one, other in zip(value, items, strict=True)) else items
    if isinstance(value, tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    fields = mapping(value)
    return str(value) if fields is None else _plain(dict(fields), depth + 1)


def _same(value: dict[Any, Any], made: dict[str, Any]) -> bool:
    return len(value) == len(made) and all(value.get(key, made) is item for key, item in made.items())
