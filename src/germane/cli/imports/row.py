"""Row: what a file of conversations holds, one thing at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from germane.types.message import Message

__all__ = ["Broken", "Directed", "Remembered", "Row", "Shared", "Turn"]


class Turn(NamedTuple):
    """A message and the session it was said in."""

    session: str
    message: Message


class Shared(NamedTuple):
    """A message that an export tells to be agent-wide: no user's own."""

    session: str
    message: Message


class Remembered(NamedTuple):
    """A memory, as `export` writes it."""

    fields: Mapping[str, Any]


class Directed(NamedTuple):
    """An agent's standing instructions."""

    text: str


class Broken(NamedTuple):
    """A row that can't be used: where it stands and why."""

    where: str
    why: str


Row = Turn | Shared | Remembered | Directed | Broken
