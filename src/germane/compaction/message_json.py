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
    """Returns a copy of the message as JSON: what the caller does to the message later doesn't change it."""
    if isinstance(raw, Message):
        parts = [{"kind": _KINDS[type(part)], "fields": _plain(_fields(part), 0)} for part in raw.parts]
        said = None if raw.created_at is None else raw.created_at.isoformat()
        return {_KEY: "message", "role": raw.role, "parts": parts, "id": raw.id, "name": raw.name, "created_at": said}
    if isinstance(raw, dict) and plain(raw):
        return dict(raw)
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
    """Returns a copy of the value as JSON."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth > _DEEPEST:
        return str(value)[:1_000]
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    fields = mapping(value)
    return str(value) if fields is None else _plain(dict(fields), depth + 1)
