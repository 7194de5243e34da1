"""Task RPCs: the client's calls about task stacks and delegations, as `client.tasks` and `client.delegations`.

All return plain values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from germane.errors import InvalidInput
from germane.grpc.client.assembly import ClientScope, checked_text, filters_to_wire
from germane.grpc.client.block_values import number_given
from germane.grpc.client.conversation import add_messages
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire, sendable
from germane.grpc.client.values import provenance_of_wire, set_time, time_of_wire
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import task_pb2 as pb
from germane.grpc.stubs.task_pb2_grpc import TaskServiceStub
from germane.kinds.tasks.value import BranchState, TaskArtifact, TaskBranch, TaskCheckpoint, TaskFrame, TaskStatus
from germane.types.candidate import Sensitivity
from germane.types.limits import COUNT, PAGE, quoted

Artifacts = Iterable[str | tuple[str, str] | TaskArtifact]
"""Ids of stored things that a task points to, each alone or with a title."""


def push(scope: ClientScope, goal: str, *, session: str | None = None, sensitivity: str = "private") -> ClientRpc[TaskFrame]:
    """Begins a task below the current one and returns it: it is the current one now."""
    request = pb.PushTaskRequest(
        **_within(scope, session), goal=checked_text("goal", goal), sensitivity=checked_text("sensitivity", sensitivity)
    )
    return ClientRpc(TaskServiceStub, "PushTask", request, _frame)


def pop(
    scope: ClientScope, result: str, *, session: str | None = None, status: str = "complete", artifacts: Artifacts = ()
) -> ClientRpc[TaskFrame]:
    """Ends the current task with its result and returns it. Raises `InvalidInput` where tasks below are open."""
    request = pb.PopTaskRequest(
        **_within(scope, session),
        result=checked_text("result", result),
        status=checked_text("status", status),
        artifacts=artifacts_to_wire(artifacts),
    )
    return ClientRpc(TaskServiceStub, "PopTask", request, _frame)


def fail(scope: ClientScope, result: str, *, session: str | None = None, artifacts: Artifacts = ()) -> ClientRpc[TaskFrame]:
    """As `pop` with the status failed."""
    return pop(scope, result, session=session, status="failed", artifacts=artifacts)


def block(scope: ClientScope, reason: str, *, session: str | None = None) -> ClientRpc[TaskFrame]:
    """Marks the current task as blocked and returns it; the task above it is the current one then."""
    request = pb.BlockTaskRequest(**_within(scope, session), reason=checked_text("reason", reason))
    return ClientRpc(TaskServiceStub, "BlockTask", request, _frame)


def resume(scope: ClientScope, id: str | None = None, *, session: str | None = None) -> ClientRpc[TaskFrame]:
    """Makes an open task the current one, active again where it was blocked. Without an id: the one blocked task here."""
    request = pb.ResumeTaskRequest(**_within(scope, session), id=checked_text("id", id, optional=True))
    return ClientRpc(TaskServiceStub, "ResumeTask", request, _frame)


def peek(scope: ClientScope, session: str | None = None) -> ClientRpc[TaskFrame | None]:
    """Returns the current task; None where the stack is empty."""
    request = pb.GetTaskPathRequest(**_within(scope, session))
    return ClientRpc(TaskServiceStub, "GetTaskPath", request, lambda response: (_frames(response) or (None,))[-1])


def path(scope: ClientScope, session: str | None = None) -> ClientRpc[tuple[TaskFrame, ...]]:
    """Returns the tasks from the root to the current one; () where the stack is empty."""
    return ClientRpc(TaskServiceStub, "GetTaskPath", pb.GetTaskPathRequest(**_within(scope, session)), _frames)


def get(scope: ClientScope, id: str) -> ClientRpc[TaskFrame]:
    """Returns one task. Raises `NotFound`."""
    request = pb.GetTaskRequest(scope=scope_to_wire(scope), id=checked_text("id", id))
    return ClientRpc(TaskServiceStub, "GetTask", request, _frame)


def list_tasks(
    scope: ClientScope, session: str | None = None, *, status: str | None = None, limit: int = 100
) -> ClientRpc[tuple[TaskFrame, ...]]:
    """Returns at most `limit` (1 to 1,000) tasks, the latest first, of one session or of all."""
    request = pb.ListTasksRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session, optional=True),
        status=checked_text("status", status, optional=True),
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )
    return ClientRpc(TaskServiceStub, "ListTasks", request, _frames)


def checkpoint(scope: ClientScope, name: str, *, session: str | None = None) -> ClientRpc[TaskCheckpoint]:
    """Remembers under a name where the session stands."""
    request = pb.SetCheckpointRequest(**_within(scope, session), name=checked_text("name", name))
    return ClientRpc(TaskServiceStub, "SetCheckpoint", request, lambda response: checkpoint_of_wire(response.checkpoint))


def branch(
    scope: ClientScope, name: str, goal: str | None = None, *, session: str | None = None, checkpoint: str | None = None
) -> ClientRpc[TaskFrame]:
    """Opens a branch where the session stands, or at a checkpoint, switches to it, and returns its first task. Raises
    `Conflict` where the name is taken."""
    request = pb.OpenBranchRequest(
        **_within(scope, session),
        name=checked_text("name", name),
        goal="" if goal is None else checked_text("goal", goal),
        checkpoint="" if checkpoint is None else checked_text("checkpoint", checkpoint),
    )
    return ClientRpc(TaskServiceStub, "OpenBranch", request, _frame)


def switch(scope: ClientScope, name: str, *, session: str | None = None) -> ClientRpc[TaskBranch]:
    """Makes a branch the running one. The first branch of a session is `main`."""
    request = pb.SwitchBranchRequest(**_within(scope, session), name=checked_text("name", name))
    return ClientRpc(TaskServiceStub, "SwitchBranch", request, _branch)


def inject(
    scope: ClientScope, name: str, result: str | None = None, *, session: str | None = None, artifacts: Artifacts = ()
) -> ClientRpc[TaskFrame]:
    """Brings a branch's result to the running branch as a completed task, which is returned, and ends that branch."""
    request = pb.InjectBranchRequest(
        **_within(scope, session),
        name=checked_text("name", name),
        result="" if result is None else checked_text("result", result),
        artifacts=artifacts_to_wire(artifacts),
    )
    return ClientRpc(TaskServiceStub, "InjectBranch", request, _frame)


def abandon(scope: ClientScope, name: str, *, session: str | None = None) -> ClientRpc[TaskBranch]:
    """Ends a branch without a result. Idempotent."""
    request = pb.AbandonBranchRequest(**_within(scope, session), name=checked_text("name", name))
    return ClientRpc(TaskServiceStub, "AbandonBranch", request, _branch)


def branches(scope: ClientScope, session: str | None = None) -> ClientRpc[tuple[TaskBranch, ...]]:
    """Returns the branches of a session, the oldest first."""
    request = pb.ListBranchesRequest(**_within(scope, session))

    def read(response: pb.ListBranchesResponse) -> tuple[TaskBranch, ...]:
        return tuple(map(branch_of_wire, response.branches))

    return ClientRpc(TaskServiceStub, "ListBranches", request, read)


def _within(scope: ClientScope, session: str | None) -> dict[str, Any]:
    return {"scope": scope_to_wire(scope), "session_id": checked_text("session", session)}


def artifacts_to_wire(given: Artifacts) -> list[pb.TaskArtifact]:
    """Returns ids, alone or with titles, as they go over the wire. Raises `InvalidInput`."""
    if isinstance(given, str):
        raise InvalidInput("artifacts must be a list of ids, not a string")
    return [_artifact(one) for one in given]


def _artifact(one: object) -> pb.TaskArtifact:
    match one:
        case str():
            return pb.TaskArtifact(id=one)
        case TaskArtifact():
            return pb.TaskArtifact(id=one.id, title=one.title)
        case (str() as id, str() as title):
            return pb.TaskArtifact(id=id, title=title)
    raise InvalidInput(f"an artifact is an id, or an id with a title, not {quoted(one)}")


def _frame(response: Any) -> TaskFrame:
    return frame_of_wire(response.task)


def _frames(response: Any) -> tuple[TaskFrame, ...]:
    return tuple(map(frame_of_wire, response.tasks))


def _branch(response: Any) -> TaskBranch:
    return branch_of_wire(response.branch)


# Calls that give tasks to other agents.


_MAX_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteDelegation:
    """One task given to another agent. `messages` are what its model gets, and `system` its system prompt where the provider
    keeps that apart. `frame` is the task in the delegating stack; its `child_session` is the session that the other agent works
    in, and `allowed` the sensitivities that it may see. `explanation` says what it gets and why."""

    frame: TaskFrame
    messages: list[dict[str, Any]] = field(repr=False)
    system: Any = field(default=None, repr=False)
    tokens: int = 0
    explanation: str = field(default="", repr=False)


def delegate(
    scope: ClientScope,
    task: str,
    mode: str = "brief",
    *,
    model: str,
    session: str | None = None,
    messages: Sequence[Any] | None = None,
    max_tokens: int = 2000,
    provider: str | None = None,
    filters: Any = None,
    agent_wide: bool = False,
    deadline: float = 5.0,
) -> ClientRpc[RemoteDelegation]:
    """Gives a task to another agent, and returns the messages for it, as `germane.Agent.delegate` does. `agent_wide` keeps from
    the other agent what belongs to the user. `delegations.finish` brings the result back. Raises `InvalidInput`, and
    `GermaneError` for a key that may not read."""
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline <= _MAX_SECONDS:
        raise InvalidInput(f"deadline must be a number of seconds, above 0 and at most 60, not {quoted(deadline)}")
    carrier = context_pb2.AssembleContextRequest()
    if messages is not None:
        with sendable():
            add_messages(messages, carrier, all=True)
    request = pb.DelegateTaskRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session),
        task=checked_text("task", task),
        mode=checked_text("mode", mode),
        model=checked_text("model", model),
        messages=carrier.messages,
        max_tokens=number_given("max_tokens", max_tokens, 1, COUNT.maximum),
        provider=checked_text("provider", provider, optional=True),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
        agent_wide=agent_wide,
        deadline_ms=max(1, round(deadline * 1000)),
    )
    return ClientRpc(TaskServiceStub, "DelegateTask", request, _delegation)


def finish(
    scope: ClientScope, id: str, result: str, *, status: str = "complete", artifacts: Artifacts = ()
) -> ClientRpc[TaskFrame]:
    """Ends a delegated task with the result that its agent brought, and returns it. Raises `NotFound`, and `InvalidInput` where
    it has ended already."""
    request = pb.FinishDelegationRequest(
        scope=scope_to_wire(scope),
        id=checked_text("id", id),
        result=checked_text("result", result),
        status=checked_text("status", status),
        artifacts=artifacts_to_wire(artifacts),
    )
    return ClientRpc(TaskServiceStub, "FinishDelegation", request, lambda response: frame_of_wire(response.task))


def list_delegations(
    scope: ClientScope, session: str | None = None, *, open: bool = False, limit: int = 100
) -> ClientRpc[tuple[TaskFrame, ...]]:
    """Returns at most `limit` (1 to 1,000) delegated tasks of a session, the latest first; with `open` those that run."""
    request = pb.ListDelegationsRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session),
        open=open,
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )

    def read(response: pb.ListDelegationsResponse) -> tuple[TaskFrame, ...]:
        return tuple(map(frame_of_wire, response.tasks))

    return ClientRpc(TaskServiceStub, "ListDelegations", request, read)


def _delegation(wire: pb.DelegateTaskResponse) -> RemoteDelegation:
    return RemoteDelegation(
        frame=frame_of_wire(wire.task),
        messages=json.loads(wire.messages_json),
        system=json.loads(wire.system_json) if wire.system_json else None,
        tokens=wire.tokens,
        explanation=wire.explanation,
    )


# Reading: the service's messages as the values that the library returns.


def frame_of_wire(wire: pb.TaskFrame) -> TaskFrame:
    """A task as `germane.Agent.tasks` returns it. A key without the right to read gets no goal and no result."""
    return TaskFrame(
        id=wire.id,
        session=wire.session_id,
        goal=wire.goal,
        parent=wire.parent or None,
        branch=wire.branch,
        depth=wire.depth,
        status=cast("TaskStatus", wire.status),
        result=wire.result if wire.HasField("result") else None,
        artifacts=tuple(TaskArtifact(id=one.id, title=one.title) for one in wire.artifacts),
        children=tuple(wire.children),
        user=wire.user_id or None,
        sensitivity=cast("Sensitivity", wire.sensitivity),
        provenance=provenance_of_wire(wire.provenance),
        version=wire.version,
        delegated=cast("Any", wire.delegated) or None,
        child_session=wire.child_session_id or None,
        delegation_depth=wire.delegation_depth,
        allowed=cast("tuple[Sensitivity, ...]", tuple(wire.allowed)),
        created_at=time_of_wire(wire.created_at),
        updated_at=time_of_wire(wire.updated_at),
        closed_at=set_time(wire, "closed_at"),
        secrets=dict(wire.secrets),
    )


def branch_of_wire(wire: pb.TaskBranch) -> TaskBranch:
    return TaskBranch(
        session=wire.session_id,
        name=wire.name,
        parent=wire.parent or None,
        base=wire.base or None,
        root=wire.root or None,
        current=wire.current or None,
        state=cast("BranchState", wire.state),
        forked_at=time_of_wire(wire.forked_at),
        closed_at=set_time(wire, "closed_at"),
    )


def checkpoint_of_wire(wire: pb.TaskCheckpoint) -> TaskCheckpoint:
    return TaskCheckpoint(
        session=wire.session_id,
        name=wire.name,
        branch=wire.branch,
        frame=wire.task_id or None,
        created_at=time_of_wire(wire.created_at),
    )
