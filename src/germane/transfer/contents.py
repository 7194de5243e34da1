"""Contents: what an export holds: whose data, each stored thing with its owner, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from germane.errors import InvalidInput
from germane.kinds.blocks.permission import Share
from germane.kinds.blocks.value import ArchivalEntry, Block, KeptVersion
from germane.kinds.conversations.value import KeptEntry, KeptSummary
from germane.kinds.events.value import Event
from germane.kinds.graph.statement import EntityStatement
from germane.kinds.graph.value import Entity, Pattern, Relation
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.value import Memory
from germane.kinds.profile.reads import MarkedLine
from germane.kinds.tasks.value import TaskBranch, TaskCheckpoint, TaskFrame
from germane.types.inventory import Tombstone
from germane.types.scope import Scope

# Entities, relations and patterns, each with who said what of it.


Sources = tuple[tuple[str, EntityStatement], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntity:
    """An entity, what was said of it on purpose (None: nothing), and what each thing (its id) that mentions it says of it."""

    entity: Entity
    stated: EntityStatement | None = None
    mentions: Sources = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelation:
    """A relation, what was said of it on purpose (None: nothing), what each of its refs says of it, and the relation that
    took its place."""

    relation: Relation
    stated: EntityStatement | None = None
    refs: Sources = ()
    ended_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPattern:
    """A pattern, and the ids of what it was learned from."""

    pattern: Pattern
    refs: tuple[str, ...] = ()


class Owner(NamedTuple):
    """Whose a stored thing is; a `user` of None stands for agent-wide. An owner without an `org` was forgotten as a whole: of
    it there are tombstones only."""

    org: str | None
    agent: str | None
    user: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Whose data an export holds. Without an `org` all of a store; without an `agent` all of the org; with `all_users` all of
    the agent's users; else what is agent-wide and, with a `user`, that user's own. Raises `InvalidInput` for an agent without
    its org, and for an id that can't be one."""

    org: str | None = None
    agent: str | None = None
    user: str | None = None
    all_users: bool = False

    def __post_init__(self) -> None:
        if self.org is None and self.agent is not None:
            raise InvalidInput("an agent is named, but not its org: give org as well")
        if self.user is not None and (self.agent is None or self.all_users):
            raise InvalidInput("a user is named beside all users: name the user's org and agent, and not all users")
        Scope(org=self.org or "default", agent=self.agent or "default", user=self.user)
        if self.agent is None and not self.all_users:
            object.__setattr__(self, "all_users", True)

    def covers(self, owner: Owner) -> bool:
        """Whether the data of `owner` belongs to it."""
        if self.org is None:
            return True
        mine = owner.org == self.org and self.agent in (None, owner.agent)
        return mine and (self.all_users or owner.user in (None, self.user))

    def __str__(self) -> str:
        if self.org is None:
            return "a whole store"
        if self.agent is None:
            return f"the org {self.org}"
        whose = f"{self.org}/{self.agent}"
        return f"{whose} with all users" if self.all_users else whose if self.user is None else f"{whose}/{self.user}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """How many things an export holds. `latest` is the time of the newest message or change in it."""

    directives: int = 0
    memories: int = 0
    contradictions: int = 0
    sessions: int = 0
    messages: int = 0
    tombstones: int = 0
    blocks: int = 0
    entries: int = 0
    entities: int = 0
    relations: int = 0
    patterns: int = 0
    tasks: int = 0
    task_stacks: int = 0
    archived: int = 0
    summaries: int = 0
    profile_marks: int = 0
    latest: datetime | None = None

    @property
    def total(self) -> int:
        stored = self.directives + self.memories + self.contradictions + self.sessions + self.messages
        stored += self.entities + self.relations + self.patterns + self.tasks + self.task_stacks
        stored += self.archived + self.summaries + self.profile_marks
        return stored + self.blocks + self.entries + self.tombstones


class StoredDirective(NamedTuple):
    """The standing instructions of an agent or of one of its users. `id` is germane's own; exports of earlier versions
    have none."""

    text: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session. `next` is the position of its next message: positions of forgotten messages aren't used again. The other
    figures follow from its messages."""

    id: str
    next: int
    length: int = 0
    started_at: datetime | None = None
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlock:
    """A block with what is kept of its document and its versions: the number and the bytes of its snapshot, each version with
    its change where that is kept by itself, and the block's shares. Requests for consent aren't part of an export."""

    block: Block
    snapshot: tuple[int, bytes] | None = None
    versions: tuple[tuple[KeptVersion, bytes | None], ...] = ()
    shares: tuple[Share, ...] = ()


GraphThing = StoredEntity | StoredRelation | StoredPattern


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStack:
    """Where the tasks of one session stand: its running branch, how often it moved, its branches and checkpoints."""

    session: str
    branch: str
    moves: int = 0
    branches: tuple[TaskBranch, ...] = ()
    checkpoints: tuple[TaskCheckpoint, ...] = ()


Thing = (
    StoredDirective
    | Memory
    | ContradictionRecord
    | StoredBlock
    | ArchivalEntry
    | SessionRecord
    | Event
    | TaskFrame
    | StoredStack
    | KeptEntry
    | KeptSummary
    | MarkedLine
    | Tombstone
    | GraphThing
)


class Owned(NamedTuple):
    """A stored thing and its owner. Of one owner the directive comes first, then the memories, the contradictions
    between them, the blocks, the archival entries, each session with its messages by position, the tasks by the time they were
    made, where each session stands with them, what compactions took out, the summaries of sessions, the marks of lines of
    the profile, and the tombstones. Lines of outlines and telling clauses aren't among them: a store makes them from the
    messages."""

    owner: Owner
    thing: Thing
