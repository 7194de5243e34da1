"""Compaction: the result: the messages that fit, what was done to get there, and what was taken out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from germane.compaction.archive import ArchiveEntry
from germane.compaction.notes import Artifact, Constraint
from germane.compaction.summary import SpanSummary

__all__ = ["Compaction", "CompactionTrace"]


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
