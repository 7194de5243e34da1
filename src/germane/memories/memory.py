"""Memory: something worth knowing that was stated, not said in passing. Six kinds, each with fields of its own (MEM-1)."""

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
    "Preference",
    "Procedure",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """`value` is any JSON value; `key` names what it is the value of. The newest on a key is the one that holds."""

    key: str
    value: Any
    observed_at: datetime | None = None

    @property
    def text(self) -> str:
        value = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False, sort_keys=True)
        return f"{self.key}: {value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    body: str
    title: str = ""

    @property
    def text(self) -> str:
        return f"{self.title}: {self.body}" if self.title else self.body


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    summary: str
    occurred_at: datetime | None = None

    @property
    def text(self) -> str:
        return self.summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
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
    """One memory as stored (MEM-2). `user` None means agent-wide. Times are aware, UTC.

    It holds from `valid_from` until `valid_to` (exclusive; None: still). `expires_at` ends it as well.
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
    tags: tuple[str, ...] = ()
    sensitivity: Sensitivity = "private"
    confidence: float = 0.8
    pinned: bool = False
    helpful: int = 0
    harmful: int = 0
    retrieval_count: int = 0
    content_hash: int = 0
    """64 bits of the normalised text and kind: equal for exact duplicates."""
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def text(self) -> str:
        return self.content.text

    @property
    def category(self) -> str:
        return CATEGORIES[self.kind]

    @property
    def usefulness(self) -> float:
        """(helpful + 1) / (helpful + harmful + 2) (SCORE-4)."""
        return (self.helpful + 1) / (self.helpful + self.harmful + 2)

    def holds(self, at: datetime) -> bool:
        """Whether it is valid at this time."""
        ends = [end for end in (self.valid_to, self.expires_at) if end is not None]
        return self.valid_from <= at and all(at < end for end in ends)
