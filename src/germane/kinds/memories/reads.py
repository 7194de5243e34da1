"""Reads: what a store answers about memories: reads and changes (SCOPE-2).

A store runs reads and changes within the scope that asks, or that the plan is committed under. Reads see what that scope
sees; changes write to the scope's own user, or agent-wide where it has none. The operations that forget (`Select`, `Forget`,
`ForgetOwner`, `LeftOf`, `PutTombstones`) are about things of every kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from germane.kinds.memories.conflicts import ConflictReason, Contradiction, ContradictionRecord
from germane.kinds.memories.value import IdsByKind, Memory, SizedMemory
from germane.kinds.memories.value import Page as Page
from germane.types.inventory import StoredKind, Tombstone
from germane.types.plan import Change, Derivation, Read, TextOf
from germane.types.query import Filters


@dataclass(frozen=True, slots=True)
class SeenMemories(Read[tuple[Memory, ...]]):
    """The memories with these ids that the scope sees, in this order, each with its near-duplicates; ids that don't exist in
    the scope are left out."""

    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class ListMemories(Read[Page]):
    """A page of at most `limit` memories that pass `filters` and are valid at `at`, newest first. `cursor` is that of the page
    before. Raises `InvalidInput` for a limit below 1 or a cursor of another listing."""

    quick: ClassVar[bool] = True
    filters: Filters
    at: datetime
    limit: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class PinnedMemories(Read[tuple[Memory, ...]]):
    """The pinned memories, the newest valid fact of each key in `keys` (in that order), and the memories with any of `tags`,
    each once."""

    quick: ClassVar[bool] = True
    keys: Sequence[str]
    tags: Sequence[str]
    at: datetime
    filters: Filters


@dataclass(frozen=True, slots=True)
class OpenConflicts(Read[tuple[Contradiction, ...]]):
    """At most `limit` open conflicts between memories of the scope's own user, oldest first; those between two texts only while
    both memories are valid at `at`."""

    at: datetime
    limit: int


@dataclass(frozen=True, slots=True)
class SizedMemories(Read[tuple[SizedMemory, ...]]):
    """At most `limit` memories of the scope's own user, ended ones too, in the order in which they were stored, with their
    sizes. `after` is the position of the last one read; 0 begins."""

    after: int
    limit: int


@dataclass(frozen=True, slots=True)
class VersionsOfMemory(Read[tuple[Memory, ...]]):
    """The memory, those that superseded it and those that it superseded, directly or not, oldest first."""

    id: str


@dataclass(frozen=True, slots=True)
class MemoriesById(Read[dict[str, Memory]]):
    """Those memories with these ids that the scope sees, by id."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoriesByHash(Read[tuple[Memory, ...]]):
    """The memories with this content hash that belong to the scope's own user and haven't ended by this time, oldest first."""

    content_hash: int
    at: datetime


@dataclass(frozen=True, slots=True)
class FactsOnKey(Read[tuple[Memory, ...]]):
    """The facts with this key that belong to the scope's own user and haven't ended by this time, by `valid_from`: those that
    hold then, and those that begin later."""

    key: str
    at: datetime


@dataclass(frozen=True, slots=True)
class MemoriesWith(Read[tuple[Memory, ...]]):
    """Of the latest 2,000 memories that belong to the scope's own user and hold at this time, those whose search row has one of
    these hashes of stems, oldest first."""

    hashes: tuple[int, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class ConflictById(Read[Contradiction | None]):
    """The conflict with this id between memories of the scope's own user, resolved or not; None where there is none."""

    id: str


@dataclass(frozen=True, slots=True)
class ConflictsBetween(Read["RecordedConflicts"]):
    """What is recorded of these pairs of memories of the scope's own user (ids, the older one first), and who has these ids of
    conflicts."""

    pairs: tuple[tuple[str, str], ...]
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedConflicts:
    """What `ConflictsBetween` found: the pairs of which a conflict is recorded, resolved or not, and those of the ids that
    stand for a conflict, whoever has it."""

    pairs: frozenset[tuple[str, str]] = frozenset()
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DerivedFrom(Read[tuple[Memory, ...]]):
    """The memories that were made from any of these messages and memories, directly or through other memories, and that belong
    to the scope's own user, oldest first, ended ones included."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdsInUse(Read["IdUse"]):
    """Which of these ids can't be given to something new of the scope's own user, whatever has them."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdUse:
    """What `IdsInUse` found: ids of what was forgotten, whoever had it; ids of what others than the scope's own user have; and
    those of the own user's things, each with its kind."""

    forgotten: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    own: Mapping[str, StoredKind] = field(default_factory=dict)

    def own_sources(self) -> frozenset[str]:
        """Returns the ids of the own user's messages, memories and archival entries: what entities and patterns come from."""
        return frozenset(id for id, kind in self.own.items() if kind in ("message", "memory", "entry"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Read["Selection"]):
    """The memories and events that match every criterion given, and the memories that derive from them, for a plan that forgets
    them. Blocks and archival entries match ids of germane's only. `everything` as the only criterion selects all that the owner
    has. The owner is the scope's own user (agent-wide
    where it has none) or, with `user`, that user of the scope's agent."""

    ids: tuple[str, ...] | None = None
    """Ids of germane's or message ids of the caller's."""
    key: str | None = None
    tag: str | None = None
    session: str | None = None
    source_kind: str | None = None
    channel: str | None = None
    """Of the provenance, as `source_kind`."""
    user: str | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class LeftOf(Read["Remains"]):
    """Looks for what is left of forgotten things with these ids of germane's, in every table of the store."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remains:
    """What `LeftOf` found: the places that were looked at, and those that hold something still."""

    checked: tuple[str, ...] = ()
    holding: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(IdsByKind):
    """What `Select` found, with all that goes with it. `sessions` are those that are selected as a whole: by name alone, or as
    those of agents to whom one of the tasks was delegated."""

    sessions: tuple[str, ...] = ()

    def forgetting(self, *, at: datetime, by: str, reason: str) -> Forget:
        """The change that removes all of it."""
        return Forget(**self.by_kind(), sessions=self.sessions, at=at, by=by, reason=reason)


@dataclass(frozen=True, slots=True)
class PutMemory(Change):
    """Inserts the memory, or replaces the memory with its id. Its search row and vector are derived in the same
    transaction. `restored` says that it comes from an export, which has its conflicts with others of the export too: the store
    derives none between two restored memories, until the text of one changes."""

    text_of: ClassVar[TextOf] = "sources"
    memory: Memory
    restored: bool = False

    @property
    def derivation(self) -> Derivation:
        return Derivation(self.memory.id, self.memory.derived_from)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndMemory(Change):
    """Ends a memory's validity at `at`. The memory stays, as one that has ended."""

    text_of: ClassVar[TextOf] = "nothing"
    id: str
    at: datetime
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class DropVectors(Change):
    """Removes the vectors of these memories of the scope's own user. They stay without one until their text changes or all
    vectors are made anew; keywords find them."""

    text_of: ClassVar[TextOf] = "nothing"
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutConflict(Change):
    """Records that two stored memories, named by their ids, contradict each other. A conflict between the two that exists stays
    as it is."""

    text_of: ClassVar[TextOf] = "nothing"
    older: str
    newer: str
    reason: ConflictReason
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveConflict(Change):
    """Closes a conflict. `kept` is the id of the memory that was kept, or `both`."""

    text_of: ClassVar[TextOf] = "nothing"
    id: str
    kept: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RestoreConflict(Change):
    """Records a conflict between two stored memories as it was in another store, with how it was resolved. A conflict between
    the two that exists stays as it is."""

    text_of: ClassVar[TextOf] = "nothing"
    record: ContradictionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget(IdsByKind, Change):
    """Removes these memories, events, blocks and archival entries, with their search rows, vectors, versions and cached
    copies, with all that was made of them, and with what was injected of any of it in any session; leaves a tombstone without
    content."""

    text_of: ClassVar[TextOf] = "somebody"
    sessions: tuple[str, ...] = ()
    """Sessions whose records of what was injected, and whose archive and summaries, are removed as a whole."""
    replaced: bool = False
    """Whether others take the place of these memories, so that what was made of them stays: nobody asked to forget it."""
    at: datetime
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetOwner(Change):
    """Removes all that one owner has, as `Forget` does: memories, messages, blocks, directive, sessions, and the owner's name.
    The owner is the scope's own user (agent-wide where it has none) or, with `user`, that user of the scope's agent."""

    text_of: ClassVar[TextOf] = "somebody"
    user: str | None = None
    at: datetime
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutTombstones(Change):
    """Keeps the ids of what was forgotten in another store, so that it isn't stored here again. With `ownerless` they are those
    of owners that were forgotten as a whole. Ids that are forgotten here already are skipped."""

    text_of: ClassVar[TextOf] = "somebody"
    tombstones: tuple[Tombstone, ...]
    ownerless: bool = False


@dataclass(frozen=True, slots=True)
class CountFeedback(Change):
    """Adds one to `helpful` or `harmful` of those memories that belong to the scope's own user; others are skipped. Doesn't
    raise the content's revision (MEM-5)."""

    text_of: ClassVar[TextOf] = "nothing"
    ids: tuple[str, ...]
    helpful: bool


@dataclass(frozen=True, slots=True)
class CountRetrievals(Change):
    """Adds one to `retrieval_count` of each of these memories that the scope sees. Doesn't raise the content's revision
    (MEM-5)."""

    text_of: ClassVar[TextOf] = "nothing"
    ids: tuple[str, ...]
