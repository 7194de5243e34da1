"""Blocking handles: the handles of the blocking client (made by `make docs` from the table of operations: don't edit it).

Each method does what the library's method with the same name does. It raises germane's errors, `StoreUnavailable` where the
service doesn't answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from germane.grpc.client.operation_call import ClientHandle
from germane.kinds.tasks.value import RemoteDelegation, TaskArtifact, TaskBranch, TaskCheckpoint, TaskFrame
from germane.types.candidate import Provenance
from germane.types.message import Message
from germane.types.query import Filters


class ClientTasks(ClientHandle):
    """The methods of `agent.tasks`."""

    def push(
        self, goal: str, *, session: str | None = None, sensitivity: str = "private", provenance: Provenance | None = None
    ) -> TaskFrame:
        """Begins a task below the current one, which may be none, and returns its frame: it is the current one now. Raises
        `InvalidInput` beyond 32 levels, 256 open tasks or 10,000 tasks of the session."""
        found: TaskFrame = self._write(
            "tasks.push", TaskFrame, goal=goal, session=session, sensitivity=sensitivity, provenance=provenance
        )
        return found

    def pop(
        self,
        result: str,
        *,
        session: str | None = None,
        status: str = "complete",
        artifacts: Iterable[str | tuple[str, str] | TaskArtifact] = (),
    ) -> TaskFrame:
        """Ends the current task with its result and returns its frame; the task above it is the current one now. `status` is
        complete or failed (then `result` says what went wrong). `artifacts` are ids of stored things that belong to the
        result, each alone or with a title; `expand` reads them back. Raises `InvalidInput` where tasks below are open: the
        message has their ids."""
        found: TaskFrame = self._write(
            "tasks.pop", TaskFrame, result=result, session=session, status=status, artifacts=artifacts
        )
        return found

    def fail(
        self, result: str, *, session: str | None = None, artifacts: Iterable[str | tuple[str, str] | TaskArtifact] = ()
    ) -> TaskFrame:
        """As `pop` with the status failed."""
        found: TaskFrame = self._write("tasks.fail", TaskFrame, result=result, session=session, artifacts=artifacts)
        return found

    def block(self, reason: str, *, session: str | None = None) -> TaskFrame:
        """Marks the current task as blocked and returns its frame. The task above it is the current one then, so that other
        work can go on; `resume` comes back to it."""
        found: TaskFrame = self._write("tasks.block", TaskFrame, reason=reason, session=session)
        return found

    def resume(self, id: str | None = None, *, session: str | None = None) -> TaskFrame:
        """Makes an open task of the running branch the current one, active again where it was blocked. Without an id: the one
        blocked task that the session stands at, or that lies below."""
        found: TaskFrame = self._write("tasks.resume", TaskFrame, id=id, session=session)
        return found

    def peek(self, session: str | None = None) -> TaskFrame | None:
        """Returns the current task; None where the stack is empty."""
        found: TaskFrame | None = self._read("tasks.peek", TaskFrame | None, session=session)
        return found

    def path(self, session: str | None = None) -> tuple[TaskFrame, ...]:
        """Returns the tasks from the root to the current one; () where the stack is empty."""
        found: tuple[TaskFrame, ...] = self._read("tasks.path", tuple[TaskFrame, ...], session=session)
        return found

    def get(self, id: str) -> TaskFrame:
        """Returns one task, of any session of the scope's own. Raises `NotFound`."""
        found: TaskFrame = self._read("tasks.get", TaskFrame, id=id)
        return found

    def list(self, session: str | None = None, *, status: str | None = None, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) tasks, the latest first: of one session, or of all where neither the call nor
        the scope names one. `status` is active, complete, blocked or failed."""
        found: tuple[TaskFrame, ...] = self._read(
            "tasks.list", tuple[TaskFrame, ...], session=session, status=status, limit=limit
        )
        return found

    def checkpoint(self, name: str, *, session: str | None = None) -> TaskCheckpoint:
        """Remembers under a name where the session stands, so that a branch can begin there later. A checkpoint of that name
        moves here."""
        found: TaskCheckpoint = self._write("tasks.checkpoint", TaskCheckpoint, name=name, session=session)
        return found

    def branch(
        self, name: str, goal: str | None = None, *, session: str | None = None, checkpoint: str | None = None
    ) -> TaskFrame:
        """Opens a branch where the session stands, or at a checkpoint, and switches to it. It begins with a task of its own,
        which is returned: `goal`, or else the goal of the task that it leaves from. What happens on a branch isn't seen on the
        branch that it left until `inject`. Raises `Conflict` where the name is taken."""
        found: TaskFrame = self._write("tasks.branch", TaskFrame, name=name, goal=goal, session=session, checkpoint=checkpoint)
        return found

    def switch(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Makes a branch the running one. The first branch of a session is `main`."""
        found: TaskBranch = self._write("tasks.switch", TaskBranch, name=name, session=session)
        return found

    def inject(
        self,
        name: str,
        result: str | None = None,
        *,
        session: str | None = None,
        artifacts: Iterable[str | tuple[str, str] | TaskArtifact] = (),
    ) -> TaskFrame:
        """Brings a branch's result to the running branch and ends that branch: a completed task with the result is added below
        the current one, and returned; it points to the branch's own task. `result` is needed where that task is still open."""
        found: TaskFrame = self._write(
            "tasks.inject", TaskFrame, name=name, result=result, session=session, artifacts=artifacts
        )
        return found

    def abandon(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Ends a branch without a result; its tasks count no more. Idempotent."""
        found: TaskBranch = self._write("tasks.abandon", TaskBranch, name=name, session=session)
        return found

    def branches(self, session: str | None = None) -> tuple[TaskBranch, ...]:
        """Returns the branches of a session, the oldest first."""
        found: tuple[TaskBranch, ...] = self._read("tasks.branches", tuple[TaskBranch, ...], session=session)
        return found


class ClientDelegations(ClientHandle):
    """The methods of `agent.delegations`."""

    def finish(
        self, id: str, result: str, *, status: str = "complete", artifacts: Iterable[str | tuple[str, str] | TaskArtifact] = ()
    ) -> TaskFrame:
        """Ends a delegated task with the result that its agent brought, and returns its frame: a completed (or failed) task
        below the one that delegated it, which `agent.expand` reads back whole. Raises `NotFound`, and `InvalidInput`
        where it has ended already."""
        found: TaskFrame = self._write(
            "delegations.finish", TaskFrame, id=id, result=result, status=status, artifacts=artifacts
        )
        return found

    def list(self, session: str | None = None, *, open: bool = False, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) delegated tasks of a session, the latest first; with `open` those that run."""
        found: tuple[TaskFrame, ...] = self._read(
            "delegations.list", tuple[TaskFrame, ...], session=session, open=open, limit=limit
        )
        return found


class ClientVerbs(ClientHandle):
    """The methods of the agent itself, and its handles."""

    @property
    def tasks(self) -> ClientTasks:
        """The operations of `agent.tasks`."""
        return ClientTasks(self)

    @property
    def delegations(self) -> ClientDelegations:
        """The operations of `agent.delegations`."""
        return ClientDelegations(self)

    def delegate(
        self,
        task: str,
        mode: str = "brief",
        *,
        model: str,
        session: str | None = None,
        messages: Sequence[Mapping[str, Any] | Message] | None = None,
        max_tokens: int = 2000,
        provider: str | None = None,
        filters: Filters | None = None,
        agent_wide: bool = False,
        deadline: float = 5.0,
    ) -> RemoteDelegation:
        """Gives a task to another agent, and returns the messages for it, as `germane.Agent.delegate` does. `agent_wide` keeps
        from the other agent what belongs to the user. `delegations.finish` brings the result back. Raises `InvalidInput`, and
        `GermaneError` for a key that may not read."""
        found: RemoteDelegation = self._write(
            "delegate",
            RemoteDelegation,
            task=task,
            mode=mode,
            model=model,
            session=session,
            messages=messages,
            max_tokens=max_tokens,
            provider=provider,
            filters=filters,
            agent_wide=agent_wide,
            deadline=deadline,
        )
        return found
