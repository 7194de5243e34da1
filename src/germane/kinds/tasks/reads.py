"""Task reads: what a store answers and changes about tasks: reads and changes.

Every store supports them. A store runs them within the part of the scope's own user (agent-wide if it has no user): no
frame of another user or agent is ever read or changed.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from germane.kinds.tasks.value import DelegatedSession, StackHead, TaskBranch, TaskCheckpoint, TaskFrame, TaskStatus, TaskView
from germane.types.plan import Change, Derivation, Read, TextOf, read


@dataclass(frozen=True, slots=True)
class HeadOf(Read[StackHead | None]):
    """Where a session stands; None where it never had a task."""

    session: str


@dataclass(frozen=True, slots=True)
class StackView(Read[TaskView | None]):
    """What an assembly of this session sees; None where no task is open. `id` names a frame of the session that is to be the
    current one; None is answered where the session has no such frame."""

    quick: ClassVar[bool] = True
    session: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class FramesById(Read[Mapping[str, TaskFrame]]):
    """The scope's own frames with these ids, by id."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PathTo(Read[tuple[TaskFrame, ...]]):
    """The frames from the root to this one, both included; () where there is none."""

    id: str


@dataclass(frozen=True, slots=True)
class ListFrames(Read[tuple[TaskFrame, ...]]):
    """At most `limit` frames, of one session or of all, the latest first."""

    session: str | None
    status: TaskStatus | None
    limit: int


@dataclass(frozen=True, slots=True)
class OpenChildren(Read[tuple[TaskFrame, ...]]):
    """The frames below this one that haven't ended, the oldest first, at most 20. Those of a branch that was merged or
    abandoned don't count."""

    id: str


@dataclass(frozen=True, slots=True)
class BranchNamed(Read[TaskBranch | None]):
    """A branch of a session."""

    session: str
    name: str


@dataclass(frozen=True, slots=True)
class BranchesOf(Read[tuple[TaskBranch, ...]]):
    """The branches of a session, by the time they were made."""

    session: str


@dataclass(frozen=True, slots=True)
class CheckpointNamed(Read[TaskCheckpoint | None]):
    """A checkpoint of a session."""

    session: str
    name: str


@dataclass(frozen=True, slots=True)
class DelegationInto(Read[DelegatedSession | None]):
    """What the agent in this session was given; None where nobody delegated into it. A scope without a user finds what any
    user of its agent delegated: a delegated agent may have a narrower scope than its parent."""

    quick: ClassVar[bool] = True
    session: str


@dataclass(frozen=True, slots=True)
class DelegatedFrames(Read[tuple[TaskFrame, ...]]):
    """At most `limit` delegated frames of a session, the latest first; only those that haven't ended where `open`."""

    session: str
    open: bool
    limit: int


@dataclass(frozen=True, slots=True)
class OpenDelegations(Read[int]):
    """How many delegated frames of a session haven't ended."""

    session: str


@dataclass(frozen=True, slots=True)
class PutFrame(Change):
    """Stores a frame, or replaces the one with its id."""

    text_of: ClassVar[TextOf] = "sources"
    frame: TaskFrame

    @property
    def derivation(self) -> Derivation:
        return Derivation(self.frame.id, self.frame.derived_from)


@dataclass(frozen=True, slots=True)
class PutBranch(Change):
    """Stores a branch, or replaces the one of its session with its name."""

    text_of: ClassVar[TextOf] = "its_owner"
    branch: TaskBranch


@dataclass(frozen=True, slots=True)
class PutHead(Change):
    """Sets the running branch of a session, and counts a move; `moves` sets how many there were, for a restored session."""

    text_of: ClassVar[TextOf] = "its_owner"
    session: str
    branch: str
    moves: int | None = None


@dataclass(frozen=True, slots=True)
class PutCheckpoint(Change):
    """Stores a checkpoint, or replaces the one of its session with its name."""

    text_of: ClassVar[TextOf] = "its_owner"
    checkpoint: TaskCheckpoint


def frame_by_id(id: str) -> Generator[Read[Any], Any, TaskFrame | None]:
    """Asks for one frame of the scope's own within a plan."""
    found = yield from read(FramesById((id,)))
    return found.get(id)
