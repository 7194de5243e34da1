"""Task to wire: converts tasks, branches and checkpoints to wire messages."""

from __future__ import annotations

from germane.grpc.stubs import task_pb2 as pb
from germane.grpc.to_wire import provenance, stamp, text
from germane.tasks.branching import TaskBranch, TaskCheckpoint
from germane.tasks.frame import TaskFrame

__all__ = ["branch", "checkpoint", "frame"]


def frame(stored: TaskFrame, *, readable: bool = True) -> pb.TaskFrame:
    """Returns a task; without goal, result, artifacts and provenance where the caller may not read."""
    return pb.TaskFrame(
        id=stored.id,
        session_id=text(stored.session),
        goal=text(stored.goal) if readable else "",
        parent=stored.parent or "",
        branch=text(stored.branch),
        depth=stored.depth,
        status=stored.status,
        result=text(stored.result) if readable and stored.result is not None else None,
        artifacts=[pb.TaskArtifact(id=text(one.id), title=text(one.title)) for one in stored.artifacts if readable],
        children=stored.children,
        user_id=stored.user or "",
        sensitivity=stored.sensitivity,
        provenance=provenance(stored.provenance) if readable else None,
        version=stored.version,
        delegated=stored.delegated or "",
        child_session_id=stored.child_session or "",
        delegation_depth=stored.delegation_depth,
        allowed=stored.allowed,
        created_at=stamp(stored.created_at),
        updated_at=stamp(stored.updated_at),
        closed_at=stamp(stored.closed_at),
        secrets=stored.secrets,
    )


def branch(stored: TaskBranch) -> pb.TaskBranch:
    return pb.TaskBranch(
        session_id=text(stored.session),
        name=text(stored.name),
        parent=text(stored.parent or ""),
        base=stored.base or "",
        root=stored.root or "",
        current=stored.current or "",
        state=stored.state,
        forked_at=stamp(stored.forked_at),
        closed_at=stamp(stored.closed_at),
    )


def checkpoint(stored: TaskCheckpoint) -> pb.TaskCheckpoint:
    return pb.TaskCheckpoint(
        session_id=text(stored.session),
        name=text(stored.name),
        branch=text(stored.branch),
        task_id=stored.frame or "",
        created_at=stamp(stored.created_at),
    )
