"""Frame: one task of an agent's stack: its goal, how it stands, and what came of it (TASK-1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from germane.errors import InvalidInput
from germane.types.candidate import Provenance, Sensitivity
from germane.types.limits import shown

__all__ = ["BRANCH", "CLOSED", "MAIN", "STATUSES", "Mode", "TaskArtifact", "TaskFrame", "TaskStatus", "closing_status"]

TaskStatus = Literal["active", "complete", "blocked", "failed"]
Mode = Literal["isolated", "fork", "brief"]
STATUSES: tuple[TaskStatus, ...] = get_args(TaskStatus)
CLOSED: tuple[TaskStatus, ...] = ("complete", "failed")
"""The statuses of a frame that has ended: it isn't opened again."""
BRANCH = "branch"
"""The name under which the provenance of a frame has the branch that it brought back."""
MAIN = "main"
"""The branch that every session begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskArtifact:
    """A pointer to something stored that a task made or used: a message or event, a memory, an archival entry, another task.
    `id` is germane's id of it, `title` a few words that say what it is."""

    id: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFrame:
    """`result` is what came of the task once it is closed; of a blocked one, what it waits for. `depth` counts from 0, the
    root's. `children` are the ids of the frames below it, at most 1,000, the oldest first. `version` rises with each change.
    A frame that was given to another agent has its `mode` (`delegated`), the `child_session` that this agent works in, how
    many delegations lie above it (`delegation_depth`, from 1), and the sensitivities that it may see (`allowed`)."""

    id: str
    session: str
    goal: str
    parent: str | None = None
    branch: str = MAIN
    depth: int = 0
    status: TaskStatus = "active"
    result: str | None = None
    artifacts: tuple[TaskArtifact, ...] = ()
    children: tuple[str, ...] = ()
    user: str | None = None
    sensitivity: Sensitivity = "private"
    provenance: Provenance = field(default_factory=Provenance)
    version: int = 1
    delegated: Mode | None = None
    child_session: str | None = None
    delegation_depth: int = 0
    allowed: tuple[Sensitivity, ...] = ()
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    secrets: Mapping[str, int] = field(default_factory=dict, compare=False)
    """The secrets that were found in what was just given, by kind; not stored."""

    @property
    def derived_from(self) -> tuple[str, ...]:
        """The ids of the frames whose words this one repeats: a branch's, where it brought a branch back."""
        return self.provenance.refs if BRANCH in self.provenance.metadata else ()

    @property
    def open(self) -> bool:
        """Whether the frame hasn't ended: it is active or blocked."""
        return self.status not in CLOSED

    def __repr__(self) -> str:
        return f"<TaskFrame {self.id} {self.status} depth={self.depth}>"


def closing_status(value: object) -> TaskStatus:
    """Returns `value` where it is a status that a frame can end with. Raises `InvalidInput`."""
    for status in CLOSED:
        if value == status:
            return status
    raise InvalidInput(f"status must be {' or '.join(CLOSED)}, not {shown(value)}: block() keeps a task open")
