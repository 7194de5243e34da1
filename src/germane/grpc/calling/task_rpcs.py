"""Task RPCs: the client's calls about task stacks, as `client.tasks`. All return plain values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from germane.errors import InvalidInput
from germane.grpc.calling.assemble_call import ClientScope, checked_text
from germane.grpc.calling.block_values import number_given
from germane.grpc.calling.rpcs import ClientRpc, scope_to_wire
from germane.grpc.calling.task_values import branch_of_wire, checkpoint_of_wire, frame_of_wire
from germane.grpc.stubs import task_pb2 as pb
from germane.grpc.stubs.task_pb2_grpc import TaskServiceStub
from germane.tasks.branching import TaskBranch, TaskCheckpoint
from germane.tasks.frame import TaskArtifact, TaskFrame
from germane.types.limits import PAGE, shown

__all__ = [
    "Artifacts",
    "abandon",
    "artifacts_to_wire",
    "block",
    "branch",
    "branches",
    "checkpoint",
    "fail",
    "get",
    "inject",
    "list_tasks",
    "path",
    "peek",
    "pop",
    "push",
    "resume",
    "switch",
]

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
    raise InvalidInput(f"an artifact is an id, or an id with a title, not {shown(one)}")


def _frame(response: Any) -> TaskFrame:
    return frame_of_wire(response.task)


def _frames(response: Any) -> tuple[TaskFrame, ...]:
    return tuple(map(frame_of_wire, response.tasks))


def _branch(response: Any) -> TaskBranch:
    return branch_of_wire(response.branch)
