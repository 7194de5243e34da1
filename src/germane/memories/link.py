"""Link: what two memories of one owner have to do with each other: near-duplicates, or a conflict that a person decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from germane.memories.contrast import Statement, contrast
from germane.memories.memory import Episode, Fact, Memory
from germane.text.normal import fold

__all__ = [
    "CONFLICT_REASONS",
    "NEAR",
    "Compared",
    "ConflictReason",
    "Contradiction",
    "ContradictionRecord",
    "LinkKind",
    "relation",
]

NEAR = 0.92
"""The cosine above which two memories may say the same (MEM-4)."""
LinkKind = Literal["near_duplicate", "conflict"]
ConflictReason = Literal["same_time", "pinned", "number", "negation", "date", "order", "ended"]
CONFLICT_REASONS: tuple[ConflictReason, ...] = get_args(ConflictReason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two memories that contradict each other, recorded for review. `reason` is `same_time` (two values of a fact were stated
    at the same time; the later one counts), `pinned` (a fact superseded a pinned one), `ended` (the newer one says that
    something has ended, and the older one may be meant), or what two nearly equal texts differ
    in: `number`, `negation`, `date`, or `order` of the words. `kept` is the id of the memory that was kept, or `both`;
    None while the conflict is open."""

    id: str
    reason: ConflictReason
    older: Memory
    newer: Memory
    created_at: datetime
    resolved_at: datetime | None = None
    kept: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionRecord:
    """A contradiction as an export holds it: `older` and `newer` are the ids of its memories."""

    id: str
    reason: ConflictReason
    older: str
    newer: str
    created_at: datetime
    resolved_at: datetime | None = None
    kept: str | None = None


class Compared(NamedTuple):
    """A memory that is compared with several others, and its text, which is read once for all of them."""

    memory: Memory
    statement: Statement

    @classmethod
    def of(cls, memory: Memory) -> Compared:
        return cls(memory, Statement(memory.text))


def relation(one: Compared, other: Compared) -> tuple[LinkKind, str] | None:
    """Returns how two memories with nearly the same vector are linked, and why; None where they aren't.

    Facts are linked only where their keys are the same name; one key's own values form a timeline and aren't linked. Two
    episodes that differ in a number or a date are two events and no conflict.
    """
    first, second = one.memory.content, other.memory.content
    if isinstance(first, Fact) and isinstance(second, Fact) and not _same_name(first.key, second.key):
        return None
    difference = contrast(one.statement, other.statement)
    if not difference:
        return "near_duplicate", ""
    if isinstance(first, Episode) or isinstance(second, Episode):
        return None
    return "conflict", difference


def _same_name(one: str, other: str) -> bool:
    return one != other and fold(one) == fold(other)
