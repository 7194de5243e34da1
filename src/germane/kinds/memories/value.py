"""Memories as values: the six kinds of memory with their fields (MEM-1), and a memory as it is stored (MEM-2).

Beside the memory itself: what it counts for in a storage budget (MEM-6), and what a language model said of it as a line of
the profile.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from germane.types.candidate import Provenance, Sensitivity
from germane.types.codec import Hash


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
    content_hash: Hash = 0
    """A 64-bit hash of the kind and the normalised text, equal for exact duplicates."""
    provenance: Provenance = field(default_factory=Provenance)
    secrets: Mapping[str, int] = field(default_factory=dict, compare=False)
    """The secrets, counted by kind, that were found in what the caller gave when the memory was made or changed. Not stored."""
    near_duplicates: tuple[str, ...] = ()
    """Ids of memories of the same owner that say nearly the same (MEM-4). The store derives them; they can't be given."""

    @property
    def text(self) -> str:
        return self.content.text

    def without_content(self) -> Memory:
        """Returns the memory as a caller gets it who may not read: without its content, tags and provenance."""
        return replace(self, kind="note", content=Note(body=""), tags=(), content_hash=0, provenance=Provenance())

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


# Sizes and worth: a store returns a memory with its bytes; the planner of a consolidation needs no text of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedMemory:
    """A memory with the bytes that it takes in the store: its text, fields, search row and vector. `vector_bytes` are those of
    its vector alone. `position` continues the reading after this memory."""

    memory: Memory
    bytes: int
    vector_bytes: int
    position: int


# A line of the profile: what a language model said of a memory is kept in the memory's provenance.


class WrittenLine(NamedTuple):
    """`always` says whether answers must respect it though a request doesn't speak of it; None where nobody said. `replaces`
    are the lines in whose place it stands: names of clauses, and ids of memories."""

    always: bool | None = None
    replaces: tuple[str, ...] = ()

    def as_metadata(self) -> Mapping[str, Any]:
        """Returns what is written into the provenance."""
        always = {} if self.always is None else {"always": self.always}
        return {**always, **({"replaces": list(self.replaces)} if self.replaces else {})}


def written_line(memory: Memory) -> WrittenLine:
    """Returns what was said of an extracted memory; of another, and of one that rules found, nothing."""
    metadata = memory.provenance.metadata
    if metadata.get("extracted") != "llm":
        return WrittenLine()
    always, replaces = metadata.get("always"), metadata.get("replaces")
    named = replaces if isinstance(replaces, list | tuple) else ()
    return WrittenLine(always if isinstance(always, bool) else None, tuple(one for one in named if isinstance(one, str)))


# The receipt is what a caller gets: the ids, the places that were checked, and the state of the scrubbing.


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsByKind:
    """The ids of things of every kind that can be forgotten: what a forgetting selects, removes, and names in its receipt.
    A new kind has its field here, and its words in `_WORDS`."""

    memory_ids: tuple[str, ...] = ()
    event_ids: tuple[str, ...] = ()
    block_ids: tuple[str, ...] = ()
    """Ids of blocks and of archival entries."""
    graph_ids: tuple[str, ...] = ()
    """Ids of entities, relations and patterns: also of those that nothing but the other things mentioned."""
    task_ids: tuple[str, ...] = ()
    """Ids of tasks, with all tasks below them."""
    compaction_ids: tuple[str, ...] = ()
    """Ids of archived entries and summaries of compactions: also of all those of the sessions of `event_ids`."""

    def by_kind(self) -> dict[str, Any]:
        """Returns the ids by the names of the fields, to be passed on as keyword arguments."""
        return {field.name: getattr(self, field.name) for field in fields(IdsByKind)}

    @property
    def all_ids(self) -> tuple[str, ...]:
        """The ids of every kind, in the order of the fields."""
        return tuple(id for ids in self.by_kind().values() for id in ids)

    @property
    def counts(self) -> str:
        """How many things of each kind there are, in words: `2 memories, 1 tasks`; `nothing` where there is none."""
        return ", ".join(f"{len(ids):,} {_WORDS[name]}" for name, ids in self.by_kind().items() if ids) or "nothing"


_WORDS = MappingProxyType(
    {
        "memory_ids": "memories",
        "event_ids": "messages",
        "block_ids": "blocks or archived texts",
        "graph_ids": "entities, relations and patterns",
        "task_ids": "tasks",
        "compaction_ids": "kept parts of compacted conversations",
    }
)
"""How a sentence names the things of each field of `IdsByKind`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(IdsByKind):
    """The ids that were forgotten or, after a dry run, that would be. Forgetting the same again returns a receipt without ids,
    whose `matched` is false. `str` says in a sentence what was forgotten.

    After forgetting, the store is searched for what is left: `checked` are the places in which nothing of it was found.
    The ids are also those of all that was made of it.

    Forgotten text is never found again, whatever `scrubbed` says. `scrubbed` is True where nothing of it, nor of anything that
    was forgotten before, is left in any file of the store (the database and its log). It is False while something delays
    that, which `waiting_for` names in words; the scrubbing is completed as soon as that ends, by this process, by another one
    or after a restart. Forgetting the same again retries and reports the state then. After a dry run the two are False and ''.
    """

    dry_run: bool = False
    scrubbed: bool = False
    waiting_for: str = ""
    checked: tuple[str, ...] = ()

    @property
    def matched(self) -> bool:
        """Whether there was anything to forget. Where there was nothing, `scrubbed` speaks of what was forgotten before."""
        return len(self) > 0

    def __str__(self) -> str:
        left = f"; some of it is still left in the file: that waits for {self.waiting_for}" if self.waiting_for else ""
        if not self.matched:
            return f"nothing matches: {'nothing would be' if self.dry_run else 'nothing was'} forgotten{left}"
        return f"{'would forget' if self.dry_run else 'forgot'} {self.counts}{left}"

    def __len__(self) -> int:
        return len(self.all_ids)
