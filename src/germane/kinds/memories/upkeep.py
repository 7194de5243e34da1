"""Upkeep as values: what `consolidate` and `audit` tell of the memories of one owner, and what the planner knows of a memory.

The clients of a service read these values too, so nothing here may import numpy or a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import log1p
from typing import Literal, get_args

from germane.kinds.memories.value import Episode, SizedMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What the planner knows of a memory. `ended` says that it is no longer valid. `opening` is the beginning of an episode's
    text; '' for other kinds."""

    id: str
    kind: str
    bytes: int
    vector_bytes: int
    pinned: bool
    ended: bool
    worth: float
    """usefulness × confidence × (1 + ln(1 + retrievals))."""
    age: datetime
    """When it happened, or when it was stored."""
    sensitivity: str = "private"
    same: tuple[object, ...] = ()
    """Equal for duplicates: the kind, and the content hash or, of facts, the key and value."""
    near: tuple[str, ...] = ()
    """Ids of its near-duplicates."""
    opening: str = ""

    @property
    def order(self) -> tuple[bool, float, datetime, str]:
        """By which the least valuable comes first: ended ones, then by worth, then the oldest."""
        return not self.ended, self.worth, self.age, self.id

    @classmethod
    def of(cls, stored: SizedMemory, same: tuple[object, ...], opening: str, now: datetime) -> Holding:
        memory = stored.memory
        happened = memory.content.occurred_at if isinstance(memory.content, Episode) else None
        ends = [end for end in (memory.valid_to, memory.expires_at) if end is not None]
        return cls(
            id=memory.id,
            kind=memory.kind,
            bytes=stored.bytes,
            vector_bytes=stored.vector_bytes,
            pinned=memory.pinned,
            ended=any(end <= now for end in ends),
            worth=memory.usefulness * memory.confidence * (1 + log1p(memory.retrieval_count)),
            age=happened or memory.created_at,
            sensitivity=memory.sensitivity,
            same=same,
            near=memory.near_duplicates,
            opening=opening,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """How many memories there are, and their bytes; `kinds` is their number by kind."""

    memories: int = 0
    bytes: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, holdings: Iterable[Holding]) -> Holdings:
        count, size, kinds = 0, 0, dict[str, int]()
        for one in holdings:
            count, size, kinds[one.kind] = count + 1, size + one.bytes, kinds.get(one.kind, 0) + 1
        return cls(memories=count, bytes=size, kinds=dict(sorted(kinds.items())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """`kept` says what `ids` said too; these are forgotten."""

    kept: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """The episodes `ids`, oldest first, become one note of their first sentences. `note` is its id; '' before it is made."""

    ids: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """`reason` is `ended` (superseded or expired), or `least_valuable` of its kind, with its `worth`."""

    id: str
    kind: str
    reason: str
    worth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """What a consolidation did or, after a dry run, would do. `after` of a dry run is estimated. `fits` is false where the
    budget can't be kept without touching what is pinned, preferences, or behaviors. Messages are never touched. `scrubbed` and
    `waiting_for` tell whether what was forgotten is gone from the files, as in `Receipt`."""

    before: Holdings
    after: Holdings
    merged: tuple[Merged, ...] = ()
    compressed: tuple[Compressed, ...] = ()
    vectors_dropped: tuple[str, ...] = ()
    evicted: tuple[Eviction, ...] = ()
    fits: bool = True
    dry_run: bool = False
    scrubbed: bool = False
    waiting_for: str = ""


# What an audit finds.


AuditKind = Literal["duplicate", "near_duplicate", "contradiction", "secret", "never_retrieved", "stale", "expired"]
AUDIT_KINDS: tuple[AuditKind, ...] = get_args(AuditKind)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """`ids` are the memories (or, for a secret, the message) that it is about; `detail` names no content: the kinds of secrets,
    the reason of a contradiction, since when something is stale or expired."""

    kind: AuditKind
    ids: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """`memories` and `messages` were examined. `counts` has the number of findings of each kind; `findings` holds at most so
    many of each as were asked for."""

    memories: int
    messages: int
    counts: dict[AuditKind, int] = field(hash=False)
    findings: tuple[AuditFinding, ...] = ()

    @property
    def clean(self) -> bool:
        return not any(self.counts.values())
