"""Built context: what `agent.build` gives: one text within a budget, and the parts that it is made of (ENGINE-9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from germane.types.candidate import Chosen
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.strategy import Strategy
from germane.types.trace import Trace

__all__ = ["BuildFigures", "BuiltContext", "ComponentType", "ContextComponent"]

ComponentType = Literal["recent", "semantic", "entity", "relation", "pattern", "custom"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextComponent:
    """One item of a built context. `source` is its id, `content` what is shown of it, before escaping; `tokens` are those of
    its line, `relevance_score` is in [0, 1]. `share` is the fraction of the original that is shown: 0 for a breadcrumb."""

    type: ComponentType
    source: str
    content: str
    tokens: int
    relevance_score: float
    handle: str = ""
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFigures:
    """How a built context came about. The counts are of distinct things: events gathered because they are recent, entities, and
    whatever a search found. `fallback_reason` is one of ENGINE-2's, empty when all went well."""

    query: str
    events_considered: int = 0
    entities_considered: int = 0
    chunks_considered: int = 0
    assembly_ms: float = field(default=0.0, compare=False)
    fallback_reason: str = ""
    degradation_level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltContext:
    """`content` is the text for a prompt, `token_count` its tokens as counted on the text itself, never above `max_tokens`.
    `truncated` says that something was left out for the budget, or shortened. `note` says why an update changed nothing. The
    fields from `scope` on are what an update needs."""

    content: str
    components: tuple[ContextComponent, ...]
    token_count: int
    truncated: bool
    strategy: Strategy
    metadata: BuildFigures
    max_tokens: int
    note: str = ""
    scope: Scope = field(repr=False)
    model: str = field(repr=False)
    at: datetime | None = field(default=None, repr=False)
    """The time asked about, where one was given."""
    filters: Filters = field(default_factory=Filters, repr=False)
    items: tuple[Chosen, ...] = field(default=(), repr=False)
    """What the components are made of, in rendered order."""
    trace: Trace = field(repr=False, compare=False)
    """Of the assembly; updates don't change it."""

    @property
    def attribution(self) -> dict[str, str]:
        """The id of each item by its handle (FORMAT-6). An update may give an item another handle."""
        return {item.handle: item.id for item in self.items}
