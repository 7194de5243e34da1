"""Rows: the kinds of row that a file of conversations can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from germane.types.message import Message

__all__ = ["BrokenRow", "DirectiveRow", "DocumentRow", "MemoryRow", "MessageRow", "Remark", "Row", "SharedMessageRow"]


class MessageRow(NamedTuple):
    """A message and the id of its conversation. `raw` is its dict in a provider's shape, where the file holds one: it is stored
    with the message."""

    session: str
    message: Message
    raw: Mapping[str, Any] | None = None


class SharedMessageRow(NamedTuple):
    """A message that an export marks as agent-wide: it belongs to no user."""

    session: str
    message: Message
    raw: Mapping[str, Any] | None = None


class MemoryRow(NamedTuple):
    """A memory, with the fields that `germane export` writes. `user` is whose it is, where the file names several users."""

    fields: Mapping[str, Any]
    user: str | None = None


class DocumentRow(NamedTuple):
    """A document: what it is found and replaced by, its title, and its text."""

    source: str
    title: str
    text: str


class DirectiveRow(NamedTuple):
    """An agent's standing instructions."""

    text: str


class BrokenRow(NamedTuple):
    """A row that can't be used: its place in the file and the reason."""

    where: str
    why: str


class Remark(NamedTuple):
    """What the answer says of the file: how many things of a kind were left out on purpose, or were taken from beside the
    conversations."""

    what: str
    number: int = 1
    left_out: bool = True


Row = MessageRow | SharedMessageRow | MemoryRow | DocumentRow | DirectiveRow | BrokenRow | Remark
