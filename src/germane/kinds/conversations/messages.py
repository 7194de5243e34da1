"""Archived messages: the messages of entries as JSON, as a text for a reader, and back in their conversation.

A caller's message is written as plain JSON, and a dict stays a dict of the same content. A value that JSON doesn't have
becomes a text: a time in ISO 8601, bytes in base64, an SDK's object as its dump.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast

from germane.compaction.placeholders import HeldSummary, held_summary, masked_handle
from germane.dialects.fields import mapping
from germane.dialects.registry import dialect, is_plain, parse
from germane.errors import InvalidInput
from germane.kinds.conversations.value import Archive, ArchiveEntry
from germane.types.message import Image, Message, Opaque, Part, Raw, Role, Text, ToolCall, ToolResult

_GERMANE_KEY = "germane"
_PART_TYPES: Mapping[str, type[Part]] = MappingProxyType(
    {"text": Text, "image": Image, "tool_call": ToolCall, "tool_result": ToolResult, "opaque": Opaque}
)
_PART_NAMES = {made: name for name, made in _PART_TYPES.items()}
_MAX_DEPTH = 64


def as_json(raw: Mapping[str, Any] | Message) -> Mapping[str, Any]:
    """Returns a copy of the message as JSON: what the caller does to the message later doesn't change it."""
    if isinstance(raw, Message):
        parts = [{"kind": _PART_NAMES[type(part)], "fields": _json_copy(_fields(part), 0)} for part in raw.parts]
        said = None if raw.created_at is None else raw.created_at.isoformat()
        return {_GERMANE_KEY: "message", "role": raw.role, "parts": parts, "id": raw.id, "name": raw.name, "created_at": said}
    if isinstance(raw, dict) and is_plain(raw):
        return dict(raw)
    found = _json_copy(raw, 0)
    return found if isinstance(found, Mapping) else {}


def from_json(value: Mapping[str, Any]) -> Mapping[str, Any] | Message:
    """Returns what `as_json` was given, apart from values that JSON doesn't have."""
    if value.get(_GERMANE_KEY) != "message":
        return value
    parts = tuple(_PART_TYPES[part["kind"]](**part["fields"]) for part in value["parts"])
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


def _json_copy(value: Any, depth: int) -> Any:
    """Returns a copy of the value as JSON."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth > _MAX_DEPTH:
        return str(value)[:1_000]
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _json_copy(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_copy(item, depth + 1) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    fields = mapping(value)
    return str(value) if fields is None else _json_copy(dict(fields), depth + 1)


# Rebuilds the whole conversation from what a compaction left in the prompt and the archive that it wrote to.


def rebuild(messages: Sequence[Raw], archive: Archive, *, provider: str = "openai") -> list[Raw]:
    """Returns the messages with each summary replaced by the messages that it stands for, and each masked output by the output.
    What the archive doesn't have stays as it is. A message that has stayed is without the thinking that Anthropic had bound to
    what stood before it. Raises what the archive raises."""
    dialect(provider)
    return list(_Rebuilding(archive, provider).whole(list(messages)))


class _Rebuilding:
    def __init__(self, archive: Archive, provider: str) -> None:
        self._archive, self._provider = archive, provider
        self._within: set[str] = set()
        """The handles that are being expanded, so that none is expanded inside itself."""

    def whole(self, messages: Sequence[Raw]) -> Iterator[Raw]:
        skipped = 0
        for index, raw in enumerate(messages):
            if skipped:
                skipped -= 1
                continue
            message = self._read(raw)
            held = None if message is None else held_summary(message)
            earlier = None if held is None or message is None else self._earlier(held)
            if earlier is None or held is None or message is None:
                yield self._unmasked(raw, message)
                continue
            yield from earlier
            rest = message.parts[1:]
            if rest:
                yield Message(role=message.role, parts=rest)
            skipped = min(held.kept, len(messages) - index - 1)

    def _read(self, raw: Raw) -> Message | None:
        try:
            return parse(raw, self._provider)
        except InvalidInput:
            return None

    def _earlier(self, held: HeldSummary) -> list[Raw] | None:
        """The messages of all spans that the summary names; None where one is missing."""
        spans: list[ArchiveEntry] = []
        handle, seen = held.handle, set(self._within)
        while handle:
            entry = None if handle in seen else self._archive.get(handle)
            if entry is None or entry.kind != "span":
                return None
            seen.add(handle)
            spans.append(entry)
            handle = entry.previous
        if not spans:
            return None
        outside, self._within = self._within, seen
        try:
            return [raw for entry in reversed(spans) for raw in self.whole([*map(from_json, entry.messages)])]
        finally:
            self._within = outside

    def _unmasked(self, raw: Raw, message: Message | None) -> Raw:
        """The message as it was before any of its outputs was masked."""
        for result in () if message is None else message.tool_results:
            handle = masked_handle(result.text)
            entry = self._archive.get(handle) if handle and handle not in self._within else None
            if entry is None or entry.kind != "output" or len(entry.messages) != 1:
                continue
            self._within.add(entry.handle)
            try:
                found = from_json(entry.messages[0])
                return self._unmasked(found, self._read(found))
            finally:
                self._within.discard(entry.handle)
        return raw


# An entry as a text for a reader: who said what, or the one output that was masked.


def entry_text(entry: ArchiveEntry) -> str:
    """Returns the text. A message that can't be read any more is named as such. Raises nothing."""
    messages = [_parsed_message(entry, place) for place in range(len(entry.messages))]
    if entry.kind == "output" and len(messages) == 1 and messages[0] is not None:
        results = messages[0].tool_results
        if entry.part < len(results):
            return results[entry.part].text
    return "\n\n".join(map(_message_text, messages))


def _parsed_message(entry: ArchiveEntry, place: int) -> Message | None:
    try:
        return parse(from_json(entry.messages[place]), entry.provider)
    except (InvalidInput, KeyError, TypeError, ValueError):
        return None


def _message_text(message: Message | None) -> str:
    if message is None:
        return "[a message that can't be read]"
    lines: list[str] = []
    for part in message.parts:
        match part:
            case Text(text):
                lines.append(text)
            case ToolCall():
                lines.append(f"→ {part.name}({part.arguments})")
            case ToolResult():
                lines.append(f"← {part.text}")
            case _:
                lines.append(f"[{type(part).__name__.lower()}]")
    return f"{message.name or message.role}: " + "\n".join(lines)
