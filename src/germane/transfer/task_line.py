"""Task line: writes a task, and where a session stands with its tasks, as JSON objects, and reads them back with checks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_args

from germane.errors import InvalidInput
from germane.memories.checks import check_provenance
from germane.tasks.branching import BRANCH_STATES, TaskBranch, TaskCheckpoint
from germane.tasks.frame import CLOSED, STATUSES, Mode, TaskArtifact, TaskFrame
from germane.tasks.limits import MAX_BRANCHES, MAX_DEPTH
from germane.transfer.line_fields import LineFields
from germane.transfer.stored import Owner, StoredStack
from germane.types.candidate import Provenance, Sensitivity
from germane.types.limits import ID, LABEL, REFERENCES, TASK_GOAL, TASK_RESULT, TASK_TITLE, shown
from germane.types.limits import text as string

__all__ = ["parsed_stack", "parsed_task", "stack_line", "task_line"]

_COUNTS = 1 << 53


def task_line(frame: TaskFrame) -> dict[str, Any]:
    """Returns the fields of a task's line, without its type and owner."""
    return {
        "id": frame.id,
        "session": frame.session,
        "branch": frame.branch,
        "parent": frame.parent,
        "depth": frame.depth,
        "status": frame.status,
        "goal": frame.goal,
        "result": frame.result,
        "artifacts": [[one.id, one.title] for one in frame.artifacts],
        "sensitivity": frame.sensitivity,
        "version": frame.version,
        "delegated": frame.delegated,
        "child_session": frame.child_session,
        "delegation_depth": frame.delegation_depth,
        "allowed": list(frame.allowed),
        "created_at": frame.created_at.isoformat(),
        "updated_at": frame.updated_at.isoformat(),
        "closed_at": _time(frame.closed_at),
        "provenance": {
            "source_kind": frame.provenance.source_kind,
            "channel": frame.provenance.channel,
            "session": frame.provenance.session,
            "message_id": frame.provenance.message_id,
            "tool_call_id": frame.provenance.tool_call_id,
            "refs": list(frame.provenance.refs),
            "metadata": dict(frame.provenance.metadata),
        },
    }


def parsed_task(line: Mapping[str, Any], owner: Owner) -> TaskFrame:
    """Returns the task in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a task")
    status = given.one_of("status", STATUSES)
    frame = TaskFrame(
        id=given.text("id", ID.maximum),
        session=given.session(),
        branch=given.text("branch", LABEL.maximum),
        parent=given.maybe_text("parent", ID.maximum),
        depth=given.count("depth", MAX_DEPTH),
        status=status,
        goal=given.text("goal", TASK_GOAL.maximum),
        result=given.maybe_text("result", TASK_RESULT.maximum),
        artifacts=tuple(_artifact(pair) for pair in given.entries("artifacts", REFERENCES.maximum)),
        user=owner.user,
        sensitivity=given.one_of("sensitivity", get_args(Sensitivity), "private"),
        version=given.count("version", _COUNTS, 1),
        delegated=given.one_of("delegated", (*get_args(Mode), None), None),
        child_session=given.maybe_text("child_session", ID.maximum),
        delegation_depth=given.count("delegation_depth", MAX_DEPTH, 0),
        allowed=tuple(_level(one) for one in given.entries("allowed", len(get_args(Sensitivity)))),
        created_at=given.time("created_at"),
        updated_at=given.time("updated_at"),
        closed_at=given.maybe_time("closed_at"),
        provenance=_provenance(given.take("provenance", {})),
    )
    given.end()
    if (frame.closed_at is not None) != (status in CLOSED):
        raise InvalidInput("a task that has ended has closed_at, and an open one hasn't")
    if frame.parent == frame.id or (frame.parent is None) != (frame.depth == 0):
        raise InvalidInput("a task at depth 0 has no parent, and one below has another task as its parent")
    return frame


def stack_line(stack: StoredStack) -> dict[str, Any]:
    """Returns the fields of a stack's line, without its type and owner."""
    return {
        "session": stack.session,
        "branch": stack.branch,
        "moves": stack.moves,
        "branches": [
            {
                "name": one.name,
                "parent": one.parent,
                "base": one.base,
                "root": one.root,
                "current": one.current,
                "state": one.state,
                "forked_at": one.forked_at.isoformat(),
                "closed_at": _time(one.closed_at),
            }
            for one in stack.branches
        ],
        "checkpoints": [
            {"name": one.name, "branch": one.branch, "frame": one.frame, "created_at": one.created_at.isoformat()}
            for one in stack.checkpoints
        ],
    }


def parsed_stack(line: Mapping[str, Any]) -> StoredStack:
    """Returns where a session stands, from a line. Raises `InvalidInput`."""
    given = LineFields(line, "a task stack")
    session = given.session()
    stack = StoredStack(
        session=session,
        branch=given.text("branch", LABEL.maximum),
        moves=given.count("moves", _COUNTS, 0),
        branches=tuple(_branch(one, session) for one in given.entries("branches", MAX_BRANCHES)),
        checkpoints=tuple(_checkpoint(one, session) for one in given.entries("checkpoints", MAX_BRANCHES)),
    )
    given.end()
    if stack.branch not in {one.name for one in stack.branches}:
        raise InvalidInput("branch must be one of the branches of the task stack")
    return stack


def _branch(value: Any, session: str) -> TaskBranch:
    given = LineFields(value, "a branch")
    branch = TaskBranch(
        session=session,
        name=given.text("name", LABEL.maximum),
        parent=given.maybe_text("parent", LABEL.maximum),
        base=given.maybe_text("base", ID.maximum),
        root=given.maybe_text("root", ID.maximum),
        current=given.maybe_text("current", ID.maximum),
        state=given.one_of("state", BRANCH_STATES, "open"),
        forked_at=given.time("forked_at"),
        closed_at=given.maybe_time("closed_at"),
    )
    given.end()
    return branch


def _checkpoint(value: Any, session: str) -> TaskCheckpoint:
    given = LineFields(value, "a checkpoint")
    checkpoint = TaskCheckpoint(
        session=session,
        name=given.text("name", LABEL.maximum),
        branch=given.text("branch", LABEL.maximum),
        frame=given.maybe_text("frame", ID.maximum),
        created_at=given.time("created_at"),
    )
    given.end()
    return checkpoint


def _artifact(pair: Any) -> TaskArtifact:
    if not isinstance(pair, list) or len(pair) != 2:
        raise InvalidInput("artifacts must be pairs of an id and a title")
    return TaskArtifact(id=string("an artifact's id", pair[0], ID), title=string("an artifact's title", pair[1], TASK_TITLE))


def _level(value: Any) -> Any:
    if value not in get_args(Sensitivity) or not isinstance(value, str):
        raise InvalidInput(f"allowed must be some of {', '.join(get_args(Sensitivity))}, not {shown(value)}")
    return value


def _provenance(value: Any) -> Provenance:
    if not isinstance(value, Mapping) or not set(value) <= set(Provenance.__slots__):
        raise InvalidInput("provenance must be an object with the fields of a provenance")
    return check_provenance(Provenance(**{**value, "refs": tuple(value.get("refs", ()))}))


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
