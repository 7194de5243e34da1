"""Request: one call of `assemble`, checked at the edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.types.message import Message
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["Request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`raw` is what the caller passed, one entry a message, untouched; `messages` is the same parsed."""

    scope: Scope
    messages: tuple[Message, ...]
    raw: tuple[Mapping[str, Any] | Message, ...]
    model: str
    provider: str
    """The dialect the output is shaped for: openai, anthropic or gemini."""
    at: datetime
    """Aware, UTC."""
    dated: bool = False
    """Whether the caller gave `at`; otherwise it is the clock's."""
    tools: tuple[Mapping[str, Any], ...] = ()
    query: str | None = None
    """Instead of the last user message."""
    deadline: float | None = 0.048
    """Seconds until the answer is due; None waits for everything (GATHER-2)."""
    max_tokens: int | None = None
    """Cap on all text germane adds, in the model's tokens (BUD-5)."""
    filters: Filters = field(default_factory=Filters)
