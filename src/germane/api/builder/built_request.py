"""Built request: what a builder gives: a request ready for the provider's SDK, and how it came about (BUILD-1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from germane.api.builder.system_parts import ShownBlock, UnshownBlock
from germane.dialects.request_body import CachePlace
from germane.types.context import Context
from germane.types.history_report import HistoryReport
from germane.types.message import Message
from germane.types.request_limits import RequestLimits
from germane.types.tool import ToolLoss

__all__ = ["BuildMetadata", "BuiltRequest", "CachePoint", "TokensByPart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensByPart:
    """The tokens of each part of the request, as the model's tokenizer counts or estimates them."""

    instructions: int = 0
    directive: int = 0
    core_blocks: int = 0
    working_blocks: int = 0
    activity: int = 0
    tool_rules: int = 0
    found: int = 0
    """Memories and messages that the assembly added, those of earlier calls included."""
    tools: int = 0
    history: int = 0

    @property
    def system(self) -> int:
        blocks = self.core_blocks + self.working_blocks
        return self.instructions + self.directive + blocks + self.activity + self.tool_rules

    @property
    def memory(self) -> int:
        """What `memory_tokens` bounds."""
        return self.directive + self.core_blocks + self.working_blocks + self.activity + self.found

    @property
    def total(self) -> int:
        return self.system + self.found + self.tools + self.history


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePoint:
    """The end of a prefix that stays the same from request to request: after the `tools`, after the `instructions` (base
    instructions, directive and core blocks), after the `history` (the conversation before the running exchange). `tokens` are
    those of the prefix up to there. `marked` says that a cache mark stands there, where the provider takes marks."""

    place: CachePlace
    tokens: int
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildMetadata:
    """How a request was built. `compression` names what was done to the history: `none` or `compacted`; `archived` counts the
    messages that left, and `history` has the figures. `losses` are what the provider doesn't take of the tools, `tool_names`
    the tools' names there where they had to be changed. `faults` name the parts that are missing because germane failed, with
    the reason."""

    tokens: TokensByPart = field(default_factory=TokensByPart)
    limits: RequestLimits = field(default_factory=RequestLimits)
    message_count: int = 0
    archived: int = 0
    compression: str = "none"
    history: HistoryReport | None = None
    blocks: tuple[ShownBlock, ...] = ()
    blocks_left_out: tuple[UnshownBlock, ...] = ()
    activity_shown: int = 0
    cache_points: tuple[CachePoint, ...] = ()
    losses: tuple[ToolLoss, ...] = ()
    tool_names: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def estimated_tokens(self) -> int:
        return self.tokens.total


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRequest:
    """`system`, `messages` and `tools` are in the provider's shape; with OpenAI's chat the system prompt is the first of the
    messages too. `context` is that of the assembly inside, with its items and its trace; None where it failed."""

    provider: str
    model: str
    system: str | list[dict[str, Any]] | None
    messages: list[Mapping[str, Any] | Message]
    tools: list[Mapping[str, Any]]
    metadata: BuildMetadata
    context: Context | None
    kwargs: Mapping[str, Any] = field(repr=False)

    def as_kwargs(self, **more: Any) -> dict[str, Any]:
        """The arguments of the SDK's call: `chat.completions.create`, `responses.create`, `messages.create` or
        `generate_content`. `more` adds to them or replaces some; a `config` of Gemini's is joined."""
        if isinstance(config := more.get("config"), Mapping) and "config" in self.kwargs:
            more["config"] = {**self.kwargs["config"], **config}
        return {**self.kwargs, **more}

    def __repr__(self) -> str:
        tokens, blocks = self.metadata.estimated_tokens, len(self.metadata.blocks)
        return f"<BuiltRequest {self.model} {len(self.messages)} messages {blocks} blocks {tokens} tokens>"
