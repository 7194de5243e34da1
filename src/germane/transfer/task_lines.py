"""Task lines: writes a task, and the task stack of a session, as JSON objects, and reads them back with checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from germane.errors import InvalidInput
from germane.kinds.tasks.value import (
    BRANCH_STATES,
    CLOSED,
    MAX_BRANCHES,
    MAX_DEPTH,
    STATUSES,
    Mode,
    TaskArtifact,
    TaskBranch,
    TaskCheckpoint,
    TaskFrame,
)
from germane.transfer.contents import Owner, StoredStack
from germane.transfer.line_fields import LineFields, parsed_provenance, provenance_fields, written_time
from germane.types.candidate import Sensitivity
from germane.types.limits import ID, LABEL, REFERENCES, TASK_GOAL, TASK_RESULT, TASK_TITLE
from germane.types.limits import check_text as string


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
        "closed_at": written_time(frame.closed_at),
        "provenance": provenance_fields(frame.provenance),
    }


def parsed_task(line: Mapping[str, Any], owner: Owner) -> TaskFrame:
    """Returns the task in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a task")
    status = given.one_of("status", STATUSES)
    frame = TaskFrame(
        id=given.text("id", ID),
        session=given.session(),
        branch=given.text("branch", LABEL),
        parent=given.maybe_text("parent", ID),
        depth=given.count("depth", maximum=MAX_DEPTH),
        status=status,
        goal=given.text("goal", TASK_GOAL),
        result=given.maybe_text("result", TASK_RESULT),
        artifacts=tuple(_artifact(pair) for pair in given.entries("artifacts", REFERENCES.maximum)),
        user=owner.user,
        sensitivity=given.sensitivity(),
        version=given.count("version", 1),
        delegated=given.one_of("delegated", (*get_args(Mode), None), None),
        child_session=given.maybe_text("child_session", ID),
        delegation_depth=given.count("delegation_depth", 0, maximum=MAX_DEPTH),
        allowed=tuple(_level(one) for one in given.entries("allowed", len(get_args(Sensitivity)))),
        created_at=given.time("created_at"),
        updated_at=given.time("updated_at"),
        closed_at=given.maybe_time("closed_at"),
        provenance=parsed_provenance(given.take("provenance", {})),
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
                "closed_at": written_time(one.closed_at),
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
        branch=given.text("branch", LABEL),
        moves=given.count("moves", 0),
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
        name=given.text("name", LABEL),
        parent=given.maybe_text("parent", LABEL),
        base=given.maybe_text("base", ID),
        root=given.maybe_text("root", ID),
        current=given.maybe_text("current", ID),
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
        name=given.text("name", LABEL),
        branch=given.text("branch", LABEL),
        frame=given.maybe_text("frame", ID),
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
        raise InvalidInput(f"must be some of {', '.join(get_args(Sensitivity))}, not {{}}", value, path="allowed")
    return value
