"""Blocking tasks: the blocking twins of `TaskStack`, `Delegations` and `Delegation`, for `germane.sync`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from germane.api.verbs.expand import Expanded
    from germane.api.workers.threads import Loop
    from germane.kinds.tasks import handle as agent_delegations
    from germane.kinds.tasks import handle as agent_tasks
    from germane.kinds.tasks import handle as delegation
    from germane.kinds.tasks.handle import Artifacts
    from germane.kinds.tasks.value import Mode, TaskBranch, TaskCheckpoint, TaskFrame
    from germane.types.candidate import Provenance
    from germane.types.context import BuiltContext, Context
    from germane.types.message import Message
    from germane.types.query import Filters
    from germane.types.scope import Scope


class TaskStack:
    """As `germane.kinds.tasks.handle.TaskStack`."""

    def __init__(self, awaited: agent_tasks.TaskStack, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def __repr__(self) -> str:
        return repr(self._awaited)

    def push(
        self, goal: str, *, session: str | None = None, sensitivity: str = "private", provenance: Provenance | None = None
    ) -> TaskFrame:
        return self._call(self._awaited.push, goal, session=session, sensitivity=sensitivity, provenance=provenance)

    def pop(self, result: str, *, session: str | None = None, status: str = "complete", artifacts: Artifacts = ()) -> TaskFrame:
        return self._call(self._awaited.pop, result, session=session, status=status, artifacts=artifacts)

    def fail(self, result: str, *, session: str | None = None, artifacts: Artifacts = ()) -> TaskFrame:
        return self._call(self._awaited.fail, result, session=session, artifacts=artifacts)

    def block(self, reason: str, *, session: str | None = None) -> TaskFrame:
        return self._call(self._awaited.block, reason, session=session)

    def resume(self, id: str | None = None, *, session: str | None = None) -> TaskFrame:
        return self._call(self._awaited.resume, id, session=session)

    def peek(self, session: str | None = None) -> TaskFrame | None:
        return self._call(self._awaited.peek, session)

    def path(self, session: str | None = None) -> tuple[TaskFrame, ...]:
        return self._call(self._awaited.path, session)

    def get(self, id: str) -> TaskFrame:
        return self._call(self._awaited.get, id)

    def list(self, session: str | None = None, *, status: str | None = None, limit: int = 100) -> tuple[TaskFrame, ...]:
        return self._call(self._awaited.list, session, status=status, limit=limit)

    def checkpoint(self, name: str, *, session: str | None = None) -> TaskCheckpoint:
        return self._call(self._awaited.checkpoint, name, session=session)

    def branch(
        self, name: str, goal: str | None = None, *, session: str | None = None, checkpoint: str | None = None
    ) -> TaskFrame:
        return self._call(self._awaited.branch, name, goal, session=session, checkpoint=checkpoint)

    def switch(self, name: str, *, session: str | None = None) -> TaskBranch:
        return self._call(self._awaited.switch, name, session=session)

    def inject(
        self, name: str, result: str | None = None, *, session: str | None = None, artifacts: Artifacts = ()
    ) -> TaskFrame:
        return self._call(self._awaited.inject, name, result, session=session, artifacts=artifacts)

    def abandon(self, name: str, *, session: str | None = None) -> TaskBranch:
        return self._call(self._awaited.abandon, name, session=session)

    def branches(self, session: str | None = None) -> tuple[TaskBranch, ...]:
        return self._call(self._awaited.branches, session)

    def expand(self, handle: str, context: Context | BuiltContext | None = None, *, filters: Filters | None = None) -> Expanded:
        return self._call(self._awaited.expand, handle, context, filters=filters)


class Delegation:
    """As `germane.kinds.tasks.handle.Delegation`."""

    def __init__(self, awaited: delegation.Delegation, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call
        self.frame, self.scope, self.context = awaited.frame, awaited.scope, awaited.context
        self.messages, self.system = awaited.messages, awaited.system

    def __repr__(self) -> str:
        return repr(self._awaited)

    @property
    def id(self) -> str:
        return self._awaited.id

    @property
    def mode(self) -> Mode:
        return self._awaited.mode

    @property
    def session(self) -> str:
        return self._awaited.session

    @property
    def tokens(self) -> int:
        return self._awaited.tokens

    def explain(self) -> str:
        return self._awaited.explain()

    def assemble(
        self, messages: Sequence[Mapping[str, Any] | Message], *, model: str, filters: Filters | None = None, **options: Any
    ) -> Context:
        return self._call(self._awaited.assemble, messages, model=model, filters=filters, **options)

    def complete(self, result: str, *, artifacts: Artifacts = ()) -> TaskFrame:
        return self._call(self._awaited.complete, result, artifacts=artifacts)

    def fail(self, reason: str, *, artifacts: Artifacts = ()) -> TaskFrame:
        return self._call(self._awaited.fail, reason, artifacts=artifacts)


class Delegations:
    """As `germane.kinds.tasks.handle.Delegations`."""

    def __init__(self, awaited: agent_delegations.Delegations, loop: Loop) -> None:
        self._awaited, self._loop, self._call = awaited, loop, loop.call

    def __repr__(self) -> str:
        return repr(self._awaited)

    def begin(
        self,
        task: str,
        *,
        mode: str = "brief",
        model: str,
        session: str | None = None,
        messages: Sequence[Mapping[str, Any] | Message] | None = None,
        max_tokens: int = 2000,
        provider: str | None = None,
        filters: Filters | None = None,
        scope: Scope | None = None,
        deadline: float | None = 5.0,
    ) -> Delegation:
        begun = self._call(
            self._awaited.begin,
            task,
            mode=mode,
            model=model,
            session=session,
            messages=messages,
            max_tokens=max_tokens,
            provider=provider,
            filters=filters,
            scope=scope,
            deadline=deadline,
        )
        return Delegation(begun, self._loop)

    def finish(self, id: str, result: str, *, status: str = "complete", artifacts: Artifacts = ()) -> TaskFrame:
        return self._call(self._awaited.finish, id, result, status=status, artifacts=artifacts)

    def list(self, session: str | None = None, *, open: bool = False, limit: int = 100) -> tuple[TaskFrame, ...]:
        return self._call(self._awaited.list, session, open=open, limit=limit)

    def allowed(self, session: str, filters: Filters | None = None) -> Filters:
        return self._call(self._awaited.allowed, session, filters)
