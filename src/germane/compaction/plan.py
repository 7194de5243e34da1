"""Plan: what leaves a conversation, decided before anything is written, and the compaction that comes of it.

A plan is made without I/O. It holds the entries for the archive, the summary and the masked outputs. The entries go to an
archive; `render` then writes the messages, with handles only for the entries that were read back. The result is a
`Compaction`: the messages that fit, what was done to get there, and what was taken out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from germane.catalog.profiles import Price
from germane.compaction.boundaries import BoundaryState, Span
from germane.compaction.llm_summary.covered_span import CoveredSpan
from germane.compaction.message_cost import Measure, MessageCost
from germane.compaction.notes import Artifact, Constraint, SpanSummary
from germane.compaction.strategy import CompactionStrategy
from germane.kinds.conversations.value import ArchiveEntry
from germane.types.message import Message, Raw
from germane.types.reports import HistoryReport


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
    """A masked tool result: number `part` of message `index`, `tokens` long, archived as `handle`. `facts` are what the line in
    its place says of it."""

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


# The result of a compaction.


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionTrace:
    """Why the boundaries are where they are. Tokens; indexes count from the conversation's beginning.

    `moves` counts how often the boundaries have moved since then: between two moves the prefix stays byte for byte.
    `saved_tokens` are those that the newest move took away, `cache_lost_tokens` those behind the place where it broke the
    prefix, which the provider reads anew once; `pays_after` is the number of calls after which the move has paid for itself at
    the model's prices, None where the catalog knows no price."""

    moves: int = 0
    masked_before: int = 0
    covered_before: int = 0
    saved_tokens: int = 0
    cache_lost_tokens: int = 0
    pays_after: float | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """`messages` are valid for `provider`; those that weren't changed are the caller's own dicts. `origins` says of each which
    of the messages given it is, by index, whether unchanged, masked or closed; None for germane's own, and where several were
    written as one. `system` is what the caller gave apart. `fits` is false only where what may not be lost is larger than
    `max_tokens`, or leaves no room for all of the user's constraints: `messages` is then the least there is, and
    `trace.reasons` says what is too large. `quarantined` are the indexes of messages with a call or result that has lost its
    other half and was closed as text. `entries` are what was taken out, by handle, whether or not an archive has them; `cited`
    are the handles that `messages` name."""

    messages: list[Any]
    origins: tuple[int | None, ...] = ()
    provider: str
    system: Any = None
    tokens: int
    tokens_before: int
    max_tokens: int
    fits: bool = True
    summary: SpanSummary | None = None
    masked: int = 0
    summarised: int = 0
    dropped: int = 0
    quarantined: tuple[int, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    entries: Mapping[str, ArchiveEntry] = field(default_factory=dict)
    cited: tuple[str, ...] = ()
    trace: CompactionTrace = CompactionTrace()

    @property
    def compacted(self) -> bool:
        """Whether anything was taken out."""
        return bool(self.masked or self.summarised or self.dropped)

    def __repr__(self) -> str:
        return f"<Compaction {self.tokens_before} → {self.tokens} of {self.max_tokens} tokens, {len(self.messages)} messages>"


# The result in figures, without anything that was said.


def report_of(made: Compaction, beside: int = 0) -> HistoryReport:
    """Returns the figures. `beside` are tokens of the request that the compaction wasn't told of."""
    trace = made.trace
    return HistoryReport(
        tokens_before=made.tokens_before + beside,
        tokens=made.tokens + beside,
        max_tokens=made.max_tokens + beside,
        fits=made.fits,
        masked=made.masked,
        summarised=made.summarised,
        dropped=made.dropped,
        quarantined=len(made.quarantined),
        moves=trace.moves,
        saved_tokens=trace.saved_tokens,
        cache_lost_tokens=trace.cache_lost_tokens,
        pays_after=trace.pays_after,
        cited=made.cited,
        reasons=trace.reasons,
    )
