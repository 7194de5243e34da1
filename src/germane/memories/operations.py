"""Ledger: what plans about memories read, and what they write. A store answers every read and applies every change here.

All of it happens within the scope the plan is committed under: reads see what that scope sees, changes write to its user
(agent-wide where it has none).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from germane.memories.memory import Memory
from germane.types.plan import Change, Read

__all__ = [
    "CountFeedback",
    "CountRetrievals",
    "EndMemory",
    "FactsOnKey",
    "Forget",
    "ForgetOwner",
    "MemoriesByHash",
    "MemoriesById",
    "PutMemory",
    "Select",
    "Selection",
    "SetDirective",
]


@dataclass(frozen=True, slots=True)
class MemoriesById(Read[dict[str, Memory]]):
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoriesByHash(Read[tuple[Memory, ...]]):
    """Memories of exactly this owner (the scope's user) with this content hash, oldest first, ended ones included."""

    content_hash: int


@dataclass(frozen=True, slots=True)
class FactsOnKey(Read[tuple[Memory, ...]]):
    """All facts of exactly this owner on this key, by `valid_from`, ended ones included."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Read["Selection"]):
    """What a forgetting would take: memories and events that match every criterion given. `everything` with no other
    criterion selects all that the scope owns. Only what the scope's own user owns (agent-wide things where it has none),
    or, with `user` given, what that user owns with this agent."""

    ids: tuple[str, ...] | None = None
    """Germane's ids, or the caller's message ids."""
    key: str | None = None
    tag: str | None = None
    session: str | None = None
    user: str | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    memory_ids: tuple[str, ...] = ()
    event_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PutMemory(Change):
    """Insert, or replace the one with this id. Its full-text row and vector are derived in the same transaction."""

    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class EndMemory(Change):
    """It holds no longer from `at` on; it stays in history."""

    id: str
    at: datetime
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget(Change):
    """Remove the text of these from the file, indexes, vectors and caches; leave a tombstone without content."""

    memory_ids: tuple[str, ...] = ()
    event_ids: tuple[str, ...] = ()
    at: datetime
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetOwner(Change):
    """As `Forget`, of all that one owner has: memories, messages, directive, sessions, and the owner's own name. The owner is
    the scope's own user (agent-wide where it has none), or, with `user` given, that user of this agent, if there is one."""

    user: str | None = None
    at: datetime
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CountFeedback(Change):
    """Adds to `helpful` or `harmful` of those that are the scope's own: a user's scope doesn't judge what is agent-wide, for
    others. Doesn't change the content's revision (MEM-5)."""

    ids: tuple[str, ...]
    helpful: bool


@dataclass(frozen=True, slots=True)
class CountRetrievals(Change):
    """Adds one to `retrieval_count` of each memory; doesn't change the content's revision (MEM-5)."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetDirective(Change):
    """The standing instructions for this agent (or for the scope's user with it); empty removes them."""

    text: str
