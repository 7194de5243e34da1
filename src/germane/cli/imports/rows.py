"""Rows: the kinds of row that a file of conversations can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from germane.types.message import Message

__all__ = ["BrokenRow", "DirectiveRow", "MemoryRow", "MessageRow", "Row", "SharedMessageRow"]


class MessageRow(NamedTuple):
    """A message and the id of its conversation."""

    session: str
    message: Message


class SharedMessageRow(NamedTuple):
    """A message that an export marks as agent-wide: it belongs to no user."""

    session: str
    message: Message


class MemoryRow(NamedTuple):
    """A memory, with the fields that `germane export` writes. `user` is whose it is, where the file names several users."""

    fields: Mapping[str, Any]
    user: str | None = None


class DirectiveRow(NamedTuple):
    """An agent's standing instructions."""

    text: str


class BrokenRow(NamedTuple):
    """A row that can't be used: its place in the file and the reason."""

    where: str
    why: str


Row = MessageRow | SharedMessageRow | MemoryRow | DirectiveRow | BrokenRow
