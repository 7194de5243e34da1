"""Request: one call of `assemble`, with checked arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.types.budget import Effort
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`raw` holds the caller's own messages, unchanged; `messages` holds the same, parsed."""

    scope: Scope
    messages: tuple[Message, ...]
    raw: tuple[Mapping[str, Any] | Message, ...]
    model: str
    provider: str
    """The dialect of the output: openai, openai-responses, anthropic or gemini."""
    at: datetime
    """Aware, UTC."""
    mid_system: bool = False
    """Whether the model takes system messages in the middle (`Profile.mid_system`)."""
    binds_thinking: bool = False
    """Whether the provider refuses thinking where something before it has changed (`Profile.binds_thinking`)."""
    dated: bool = False
    """Whether the caller passed `at`; otherwise it is the clock's time."""
    tools: tuple[Mapping[str, Any], ...] = ()
    query: str | None = None
    """Replaces the last user message as the question."""
    deadline: float | None = 0.25
    """Seconds until the answer is due; None waits for every source (ENGINE-10, GATHER-2)."""
    max_tokens: int | None = None
    """The most tokens of the model that germane may add (BUD-5)."""
    filters: Filters = field(default_factory=Filters)
    effort: Effort | float | None = None
    """How readily tokens are spent; None: as the strategy says (AMOUNT-2)."""
    like: str | None = None
    """The listed model whose profile the model gets (BUD-1a)."""
    window: int | None = None
    """The model's window in tokens, in place of the catalog's (BUD-1a)."""
    beside: int = 0
    """Tokens of the model that are sent beside the messages and aren't in them, such as the system parts of a built request."""
    reserve: int | None = None
    """Tokens kept free for the answer, in place of BUD-3's."""
    blocks: tuple[str, ...] = ()
    """Labels or ids of memory blocks that the request refers to, so that they are shown too (BUILD-4)."""
    task: str | bool | None = None
    """The task to work on (TASK-2): None the session's current one, where it has one; a frame's id; False none."""
    has_system: bool = False
    """Whether the first of `messages` and `raw` is the caller's `system=` (INJECT-7)."""
