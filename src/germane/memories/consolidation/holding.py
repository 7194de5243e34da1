"""Holding: a memory as it counts in a storage budget: its size, and how much it is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import log1p

from germane.memories.memory import Episode, Memory

__all__ = ["Holding", "Holdings", "Stored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A memory with the bytes that it takes in the store: its text, fields, search row and vector. `vector_bytes` are those of
    its vector alone. `position` continues the reading after this memory."""

    memory: Memory
    bytes: int
    vector_bytes: int
    position: int


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
    def of(cls, stored: Stored, same: tuple[object, ...], opening: str, now: datetime) -> Holding:
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
