"""Conversation: messages as a caller gave it, made sure of by size and shape before any message is read: it is a list, has no
more messages, characters and values than one request may, and none that is nested without end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from germane.clock import aware
from germane.errors import InvalidInput
from germane.types.extent import Extent
from germane.types.limits import CHARACTERS, ID, MESSAGE_TEXT, Limit, text, within
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult

__all__ = ["conversation", "listed", "look", "recordable"]

_PARTS: tuple[type[Part], ...] = (Text, Image, ToolCall, ToolResult, Opaque)
_ROLES = get_args(Role)
_STRINGS = ("text", "id", "name", "arguments", "call_id", "kind")
"""Fields of parts that are always strings."""


def conversation(messages: object, most: Limit) -> None:
    """Makes sure of `messages` as a whole. Raises `InvalidInput`, naming the message where one by itself is too much."""
    look(listed(messages, most), Extent("messages", CHARACTERS))


def listed(messages: object, most: Limit) -> Sequence[Any]:
    """`messages` itself, a list of no more than `most`. Its messages aren't looked at."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise InvalidInput(f"messages must be a list of messages, not {type(messages).__name__}")
    within("messages", len(messages), most)
    return messages


def look(messages: Sequence[Any], extent: Extent, *, first: int = 0) -> None:
    """Makes sure of the size and shape of each: `extent` counts what there has been so far, `first` is the place of the first
    in the list. Raises `InvalidInput` naming the message."""
    for at, raw in enumerate(messages, first):
        if type(raw) is dict and len(raw) == 2 and type(raw.get("content")) is str and type(raw.get("role")) is str:
            extent.text(len(raw["content"]))
        elif isinstance(raw, Message):
            extent.part(f"message {at}", _fields(f"message {at}", raw))
        else:
            extent.part(f"message {at}", raw)


def recordable(messages: Sequence[Message], zone: str, *, first: int = 0) -> None:
    """Makes sure of what is about to be kept of each: its text, its time, and the caller's id, by which it is known from then
    on. `first` is the place of the first in the list. Raises `InvalidInput` naming the message."""
    for at, message in enumerate(messages, first):
        if message.id is not None:
            text(f"message {at}: id", message.id, ID)
        if message.created_at is not None:
            aware(message.created_at, zone, f"message {at}: created_at")
        within(f"message {at}: its text", len(message.content), MESSAGE_TEXT)


def _fields(where: str, message: Message) -> list[Any]:
    """All that it holds, once it is sure that it is what its type says: nobody else looks."""
    for name, value, kind in (
        ("id", message.id, str | None),
        ("name", message.name, str | None),
        ("created_at", message.created_at, datetime | None),
    ):
        if not isinstance(value, kind):
            raise InvalidInput(f"{where}: {name} is {type(value).__name__}: give a {'datetime' if 'at' in name else 'string'}")
    if message.role not in _ROLES:
        raise InvalidInput(f"{where}: unknown role: give one of {', '.join(_ROLES)}")
    if not isinstance(message.parts, list | tuple):
        raise InvalidInput(f"{where}: parts is {type(message.parts).__name__}: give a tuple of parts")
    found: list[Any] = [message.id, message.name]
    for at, part in enumerate(message.parts):
        if not isinstance(part, _PARTS):
            raise InvalidInput(
                f"{where}: part {at} is {type(part).__name__}: give a Text, Image, ToolCall, ToolResult or Opaque"
            )
        values = [(name, getattr(part, name)) for name in part.__slots__]
        for name, value in values:
            if name in _STRINGS and not isinstance(value, str):
                raise InvalidInput(f"{where}: {name} of part {at} is {type(value).__name__}: give a string")
        found.append([value for _, value in values])
    return found
