"""Build plan: everything that the steps of a builder have said, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.api.builder.activity import Activity
from germane.api.builder.system_parts import PromptBlocks
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.rules.tool_rule import ToolRule
from germane.types.block_text import BlockText
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.request_limits import LimitTable
from germane.types.strategy import Strategy
from germane.types.tool import Tool

__all__ = ["BuildPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """See the steps of `Builder`. `blocks` None: the agent's own source of blocks, where it has one."""

    messages: Sequence[Mapping[str, Any] | Message] = ()
    tools: Sequence[Mapping[str, Any] | Tool] = ()
    instructions: str = ""
    rules: tuple[ToolRule, ...] = ()
    model: str | None = None
    provider: str | None = None
    like: str | None = None
    window: int | None = None
    references: tuple[str, ...] = ()
    blocks: PromptBlocks | tuple[BlockText, ...] | None = None
    descriptions: bool = True
    schemas: bool = False
    activity: Sequence[Activity] = ()
    session: str | None = None
    query: str | None = None
    at: datetime | None = None
    limits: LimitTable = field(default_factory=LimitTable)
    history: CompactionStrategy = field(default_factory=Summarise)
    keep_history: bool = True
    strategy: str | Strategy = "default"
    filters: Filters | None = None
    deadline: float | None = 0.25
