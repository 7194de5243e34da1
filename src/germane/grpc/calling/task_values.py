"""Task values: the service's messages about tasks as the values that the library returns."""

from __future__ import annotations

from typing import Any, cast

from germane.grpc.calling.plain_values import provenance_of_wire, set_time, time_of_wire
from germane.grpc.stubs import task_pb2 as pb
from germane.tasks.branching import BranchState, TaskBranch, TaskCheckpoint
from germane.tasks.frame import TaskArtifact, TaskFrame, TaskStatus
from germane.types.candidate import Sensitivity

__all__ = ["branch_of_wire", "checkpoint_of_wire", "frame_of_wire"]


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
