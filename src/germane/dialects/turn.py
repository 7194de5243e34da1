"""Turn: a message on its way out, with the caller's own dict where that can travel as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from germane.types.message import Message

__all__ = ["Turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """`native` is the caller's dict, already in the provider's shape; None where the message has to be written.
    `late` is text of germane's that goes before what the human says in this turn (INJECT-2).
    `pinned` marks where the provider's prompt cache may end, for providers that want to be told."""

    message: Message
    native: Mapping[str, Any] | None = field(default=None, hash=False)
    late: str = ""
    pinned: bool = False
