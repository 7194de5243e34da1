"""Task reader: the protocol for reading a scope's own tasks, outside of any plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from germane.tasks.branching import StackHead, TaskBranch, TaskCheckpoint
from germane.tasks.frame import TaskFrame, TaskStatus
from germane.tasks.limits import DelegatedSession
from germane.tasks.view import TaskView

__all__ = ["TaskReader"]


class TaskReader(Protocol):
    """Every method sees the frames of the scope's own user, or the agent-wide ones where the scope has no user."""

    async def head(self, session: str) -> StackHead | None:
        """Returns where a session stands; None where it never had a task."""

    async def view(self, session: str, id: str | None = None) -> TaskView | None:
        """Returns what an assembly of the session sees; None where no task is open. `id` names a frame of the session that is
        to be the current one; None where the session has no such frame."""

    async def frames(self, ids: Sequence[str]) -> tuple[TaskFrame, ...]:
        """Returns the frames with these ids, in this order; unknown ids are left out."""

    async def path(self, id: str) -> tuple[TaskFrame, ...]:
        """Returns the frames from the root to this one; () where there is no such frame."""

    async def list(self, session: str | None, status: TaskStatus | None, limit: int) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` frames, of one session or of all, the latest first."""

    async def branches(self, session: str) -> tuple[TaskBranch, ...]:
        """Returns the branches of a session, by the time they were made."""

    async def checkpoints(self, session: str) -> tuple[TaskCheckpoint, ...]:
        """Returns the checkpoints of a session, by the time they were made."""

    async def delegations(self, session: str, *, open: bool, limit: int) -> tuple[TaskFrame, ...]:
        """Returns the delegated frames of a session, the latest first; only those that haven't ended where `open`."""

    async def delegated(self, session: str) -> DelegatedSession | None:
        """Returns what the agent in this session was given; None where nobody delegated into it. A scope without a user finds
        what any user of its agent delegated: a delegated agent may have a narrower scope than its parent."""
