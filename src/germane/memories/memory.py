"""Memory: the six kinds of memory with their fields (MEM-1), and a memory as it is stored (MEM-2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from germane.types.candidate import Provenance, Sensitivity

__all__ = [
    "CATEGORIES",
    "KINDS",
    "Behavior",
    "Content",
    "Episode",
    "Fact",
    "Memory",
    "Note",
    "Page",
    "Preference",
    "Procedure",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A named value: `value` is any JSON value, `key` its name. Of several facts with one key, the newest is valid."""

    key: str
    value: Any
    observed_at: datetime | None = None

    @property
    def text(self) -> str:
        value = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False, sort_keys=True)
        return f"{self.key}: {value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """What a user prefers."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """How something is done."""

    body: str
    title: str = ""

    @property
    def text(self) -> str:
        return f"{self.title}: {self.body}" if self.title else self.body


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    """How the agent is to behave."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """Something that happened."""

    summary: str
    occurred_at: datetime | None = None

    @property
    def text(self) -> str:
        return self.summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Anything else."""

    body: str
    title: str = ""

    @property
    def text(self) -> str:
        return f"{self.title}: {self.body}" if self.title else self.body


Content = Fact | Preference | Procedure | Behavior | Episode | Note

KINDS: Mapping[str, type[Content]] = MappingProxyType(
    {"fact": Fact, "preference": Preference, "procedure": Procedure, "behavior": Behavior, "episode": Episode, "note": Note}
)
CATEGORIES: Mapping[str, str] = MappingProxyType(
    {
        "fact": "factual",
        "note": "factual",
        "preference": "preference",
        "procedure": "procedural",
        "behavior": "behavioral",
        "episode": "episodic",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory as stored (MEM-2). `user` None means agent-wide. Times are aware, in UTC.

    A memory is valid from `valid_from` until `valid_to` or `expires_at` (both exclusive; None: no end), whichever is earlier.
    """

    id: str
    kind: str
    content: Content
    user: str | None
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    superseded_by: str | None = None
    derived_from: tuple[str, ...] = ()
    """Ids of the messages and memories that it was made from. Forgetting one of them forgets the memory too."""
    stale_since: datetime | None = None
    """Since when something that it was made from is superseded, changed or gone; None where it isn't, and after an update."""
    tags: tuple[str, ...] = ()
    sensitivity: Sensitivity = "private"
    confidence: float = 0.8
    pinned: bool = False
    helpful: int = 0
    harmful: int = 0
    retrieval_count: int = 0
    content_hash: int = 0
    """A 64-bit hash of the kind and the normalised text, equal for exact duplicates."""
    provenance: Provenance = field(default_factory=Provenance)
    secrets: Mapping[str, int] = field(default_factory=dict, compare=False)
    """The secrets, counted by kind, that were found in what the caller gave when the memory was made or changed. Not stored."""
    near_duplicates: tuple[str, ...] = ()
    """Ids of memories of the same owner that say nearly the same (MEM-4). The store derives them; they can't be given."""

    @property
    def text(self) -> str:
        return self.content.text

    @property
    def category(self) -> str:
        return CATEGORIES[self.kind]

    @property
    def usefulness(self) -> float:
        """The Laplace-smoothed share of helpful votes, in (0, 1): (helpful + 1) / (helpful + harmful + 2) (SCORE-4)."""
        return (self.helpful + 1) / (self.helpful + self.harmful + 2)

    def holds(self, at: datetime) -> bool:
        """Whether the memory is valid at this time."""
        ends = [end for end in (self.valid_to, self.expires_at) if end is not None]
        return self.valid_from <= at and all(at < end for end in ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a listing. `cursor` continues the listing; None on the last page."""

    memories: tuple[Memory, ...]
    cursor: str | None = None
