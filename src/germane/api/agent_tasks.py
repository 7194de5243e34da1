"""Agent tasks: the task stack of one scope, as `agent.tasks`: push, pop, block, branch, and pointers that expand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from germane.api.arguments import number
from germane.api.expand import Expanded, expanded
from germane.api.wiring import Parts
from germane.errors import InvalidInput, NotFound
from germane.tasks.branch import abandon_branch, branch_name, inject_branch, make_checkpoint, open_branch, switch_branch
from germane.tasks.branching import TaskBranch, TaskCheckpoint
from germane.tasks.frame import STATUSES, TaskArtifact, TaskFrame, TaskStatus, closing_status
from germane.tasks.new_frame import new_frame, task_outcome
from germane.tasks.stack import block_task, pop_task, push_task, resume_task
from germane.text.secrets.screen import refuse_in_name
from germane.types.built_context import BuiltContext
from germane.types.candidate import Provenance
from germane.types.context import Context
from germane.types.limits import ID, PAGE, TASK_GOAL, shown
from germane.types.limits import text as string
from germane.types.plan import Plan
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["Artifacts", "TaskStack"]

T = TypeVar("T")

Artifacts = Iterable[str | tuple[str, str] | TaskArtifact]
"""Ids of stored things that a task points to, each alone or with a title."""


class TaskStack:
    """What one scope's sessions are working on. Each session has a stack of its own; `session` may be left out where the scope
    names one. Several processes may work on the same stack. Every call raises `InvalidInput` for what it can't use, and
    `NotFound` for tasks, branches and checkpoints that aren't there."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope
        self._store = parts.store.within(scope)

    async def push(
        self, goal: str, *, session: str | None = None, sensitivity: str = "private", provenance: Provenance | None = None
    ) -> TaskFrame:
        """Begins a task below the current one, which may be none, and returns its frame: it is the current one now. Raises
        `InvalidInput` beyond 32 levels, 256 open tasks or 10,000 tasks of the session."""
        frame = new_frame(
            goal,
            session=self._named(session),
            user=self._scope.user,
            at=self._parts.clock.now(),
            sensitivity=sensitivity,
            provenance=provenance,
            secrets=self._parts.secrets,
        )
        return await self._commit(push_task(frame))

    async def pop(
        self, result: str, *, session: str | None = None, status: str = "complete", artifacts: Artifacts = ()
    ) -> TaskFrame:
        """Ends the current task with its result and returns its frame; the task above it is the current one now. `status` is
        complete or failed (then `result` says what went wrong). `artifacts` are ids of stored things that belong to the
        result, each alone or with a title; `expand` reads them back. Raises `InvalidInput` where tasks below are open: the
        message has their ids."""
        ended, outcome = closing_status(status), task_outcome(result, artifacts, secrets=self._parts.secrets)
        return await self._commit(pop_task(self._session(session), ended, outcome, at=self._parts.clock.now()))

    async def fail(self, result: str, *, session: str | None = None, artifacts: Artifacts = ()) -> TaskFrame:
        """As `pop` with the status failed."""
        return await self.pop(result, session=session, status="failed", artifacts=artifacts)

    async def block(self, reason: str, *, session: str | None = None) -> TaskFrame:
        """Marks the current task as blocked and returns its frame. The task above it is the current one then, so that other
        work can go on; `resume` comes back to it."""
        string("reason", reason, TASK_GOAL)
        outcome = task_outcome(reason, secrets=self._parts.secrets)
        return await self._commit(block_task(self._session(session), outcome, at=self._parts.clock.now()))

    async def resume(self, id: str | None = None, *, session: str | None = None) -> TaskFrame:
        """Makes an open task of the running branch the current one, active again where it was blocked. Without an id: the one
        blocked task that the session stands at, or that lies below."""
        wanted = None if id is None else string("id", id, ID)
        return await self._commit(resume_task(self._session(session), wanted, at=self._parts.clock.now()))

    async def peek(self, session: str | None = None) -> TaskFrame | None:
        """Returns the current task; None where the stack is empty."""
        view = await self._store.tasks.view(self._session(session))
        return None if view is None else view.current

    async def path(self, session: str | None = None) -> tuple[TaskFrame, ...]:
        """Returns the tasks from the root to the current one; () where the stack is empty."""
        view = await self._store.tasks.view(self._session(session))
        return () if view is None else view.path

    async def get(self, id: str) -> TaskFrame:
        """Returns one task, of any session of the scope's own. Raises `NotFound`."""
        found = await self._store.tasks.frames([string("id", id, ID)])
        if not found:
            raise NotFound(f"no task {shown(id)} here")
        return found[0]

    async def list(self, session: str | None = None, *, status: str | None = None, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) tasks, the latest first: of one session, or of all where neither the call nor
        the scope names one. `status` is active, complete, blocked or failed."""
        number("limit", limit, minimum=1, maximum=PAGE.maximum)
        named = self._scope.session if session is None else string("session", session, ID)
        return await self._store.tasks.list(named, None if status is None else _status(status), limit)

    async def checkpoint(self, name: str, *, session: str | None = None) -> TaskCheckpoint:
        """Remembers under a name where the session stands, so that a branch can begin there later. A checkpoint of that name
        moves here."""
        made = make_checkpoint(self._name(name), self._named(session), at=self._parts.clock.now())
        return await self._commit(made)

    async def branch(
        self, name: str, goal: str | None = None, *, session: str | None = None, checkpoint: str | None = None
    ) -> TaskFrame:
        """Opens a branch where the session stands, or at a checkpoint, and switches to it. It begins with a task of its own,
        which is returned: `goal`, or else the goal of the task that it leaves from. What happens on a branch isn't seen on the
        branch that it left until `inject`. Raises `Conflict` where the name is taken."""
        title = self._name(name)
        frame = new_frame(
            title if goal is None else goal,
            session=self._named(session),
            user=self._scope.user,
            at=self._parts.clock.now(),
            secrets=self._parts.secrets,
        )
        place = None if checkpoint is None else branch_name("checkpoint", checkpoint)
        return await self._commit(open_branch(title, frame, checkpoint=place, same_goal=goal is None))

    async def switch(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Makes a branch the running one. The first branch of a session is `main`."""
        return await self._commit(switch_branch(branch_name("name", name), self._session(session)))

    async def inject(
        self, name: str, result: str | None = None, *, session: str | None = None, artifacts: Artifacts = ()
    ) -> TaskFrame:
        """Brings a branch's result to the running branch and ends that branch: a completed task with the result is added below
        the current one, and returned; it points to the branch's own task. `result` is needed where that task is still open."""
        if result is None and artifacts:
            raise InvalidInput("artifacts are given without a result: give both, or neither")
        outcome = None if result is None else task_outcome(result, artifacts, secrets=self._parts.secrets)
        wanted, now = branch_name("name", name), self._parts.clock.now()
        return await self._commit(inject_branch(wanted, self._session(session), outcome, user=self._scope.user, at=now))

    async def abandon(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Ends a branch without a result; its tasks count no more. Idempotent."""
        plan = abandon_branch(branch_name("name", name), self._session(session), at=self._parts.clock.now())
        return await self._commit(plan)

    async def branches(self, session: str | None = None) -> tuple[TaskBranch, ...]:
        """Returns the branches of a session, the oldest first."""
        return await self._store.tasks.branches(self._session(session))

    async def expand(
        self, handle: str, context: Context | BuiltContext | None = None, *, filters: Filters | None = None
    ) -> Expanded:
        """As `agent.expand`, and returns beside the text what it is, and the artifacts of a task. `filters` limits the
        sensitivities as in `assemble` (default: those of `context`). Raises `NotFound`, `InvalidInput`."""
        return await expanded(self._parts, self._scope, string("handle", handle, ID), context, filters)

    def _session(self, session: str | None) -> str:
        named = self._scope.session if session is None else session
        if named is None:
            raise InvalidInput("session is missing: name the conversation that the tasks belong to")
        return self._scope.within(string("session", named, ID)).session or ""

    def _named(self, session: str | None) -> str:
        """The session in which something is stored."""
        return refuse_in_name(self._parts.secrets, "the session's name", self._session(session))

    def _name(self, name: str) -> str:
        return refuse_in_name(self._parts.secrets, "the name", branch_name("name", name))

    async def _commit(self, plan: Plan[T]) -> T:
        return await self._store.journal.commit(plan)


def _status(value: object) -> TaskStatus:
    for status in STATUSES:
        if value == status:
            return status
    raise InvalidInput(f"status must be one of {', '.join(STATUSES)}, not {shown(value)}")
