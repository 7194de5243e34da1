"""Plan: what leaves a conversation, before anything is written: the entries for the archive, the summary, the masks.

A plan is made without I/O. Its `entries` go to an archive; `render` then writes the messages, with handles only for the entries
that were read back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from germane.catalog.prices import Price
from germane.compaction.archive import ArchiveEntry
from germane.compaction.boundaries import BoundaryState, Span
from germane.compaction.compaction import Compaction
from germane.compaction.llm_summary.covered_span import CoveredSpan
from germane.compaction.message_cost import Measure, MessageCost
from germane.compaction.notes import Artifact, Constraint
from germane.compaction.strategy import CompactionStrategy
from germane.compaction.summary import SpanSummary
from germane.types.message import Message, Raw

__all__ = ["CompactionPlan", "CompactionTerms", "MaskedOutput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionTerms:
    """What a conversation has to fit. `max_tokens` are those of the whole request: messages, `system`, `tools`. `low_water` is
    the part of them that is left after the boundaries have moved. `cite` says that handles may be named. `price` is the
    model's, for the trace."""

    measure: Measure
    max_tokens: int
    strategy: CompactionStrategy
    low_water: float = 0.5
    max_messages: int | None = None
    system: Any = None
    tools: Sequence[Mapping[str, Any]] = field(default=())
    cite: bool = False
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedOutput:
    """The result with the number `part` of the message `index`, of so many tokens, is masked and goes under `handle`. `facts`
    are what the line in its place says of it."""

    index: int
    part: int
    tokens: int
    handle: str
    facts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """Indexes are those of `raws`, `messages` and `costs`, of which the first `count` belong to the plan: a summary of
    germane's own that the caller's conversation began with isn't among them; `offset` is 1 where there was one.

    `summary` is what stands for all that has left, None where nothing does. `handle` is that of the newest span, `replaced` the
    number of messages that the summary stands for. `held` is the message of an earlier summary that still says it all.
    `entries` are by handle, in the order in which they were taken out. `draft` is what the plan comes to with all handles named
    that may be."""

    raws: Sequence[Raw]
    messages: Sequence[Message]
    costs: Sequence[MessageCost]
    count: int
    lead: int
    offset: int
    state: BoundaryState
    terms: CompactionTerms
    tokens_before: int
    masks: tuple[MaskedOutput, ...] = ()
    held: Raw | None = None
    summary: SpanSummary | None = None
    handle: str = ""
    replaced: int = 0
    entries: Mapping[str, ArchiveEntry] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    reasons: tuple[str, ...] = ()
    complete: bool = True
    """Whether the summary holds every constraint."""
    late: frozenset[int] = frozenset()
    """The messages with calls whose results came behind the boundary, and are paired with them."""
    span: CoveredSpan | None = None
    """What has left, where a source of summaries was given."""
    draft: Compaction | None = None

    @property
    def provider(self) -> str:
        return self.terms.measure.provider

    def shown(self) -> Iterator[int]:
        """Yields the indexes of the messages that stay, without those of the system at the start."""
        spans: tuple[Span, ...] = (*self.state.kept, (self.state.covered, self.count))
        for start, end in spans:
            yield from range(start, end)
