"""Stack: the plans that change the stack of a session: push, pop, block, resume (TASK-1).

Each plan reads where the session stands within the transaction that writes, so several processes may work on one stack.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.errors import InvalidInput, NotFound
from germane.tasks.branching import StackHead, TaskBranch
from germane.tasks.frame import MAIN, TaskFrame, TaskStatus
from germane.tasks.limits import check_room
from germane.tasks.new_frame import TaskOutcome, closed_frame
from germane.tasks.operations import FrameById, HeadOf, OpenChildren, PutBranch, PutFrame, PutHead
from germane.types.limits import shown
from germane.types.plan import Decision, Plan, Read, read

__all__ = [
    "block_task",
    "current_frame",
    "current_task",
    "must_be_closed",
    "own_frame",
    "pop_task",
    "push_task",
    "resume_task",
    "standing",
]

_EMPTY = "the session has no open task: push one first"
_NAMED = 5
"""Open tasks that an error names by their ids."""


def push_task(frame: TaskFrame) -> Plan[TaskFrame]:
    """Puts a frame on the stack, below the current one, and makes it the current one. Only the goal, the owner and the times of
    `frame` are taken as they are: where it belongs follows from the stack. Raises `InvalidInput` where there is no room."""
    head = yield from read(HeadOf(frame.session))
    branch = standing(head, frame)
    parent = yield from current_frame(branch)
    placed = replace(
        frame,
        parent=None if parent is None else parent.id,
        branch=branch.name,
        depth=0 if parent is None else parent.depth + 1,
    )
    check_room(head, placed.depth)
    moved = replace(branch, current=placed.id, root=branch.root or (None if branch.parent is None else placed.id))
    return Decision((PutFrame(placed), PutBranch(moved), PutHead(frame.session, branch.name)), placed)


def pop_task(session: str, status: TaskStatus, outcome: TaskOutcome, *, at: datetime) -> Plan[TaskFrame]:
    """Closes the current frame with its result, and makes the frame above it the current one. Raises `InvalidInput` where the
    stack is empty, where frames below it are open (it names them), and without a result."""
    branch, frame = yield from _top(session)
    yield from must_be_closed(frame)
    closed = closed_frame(frame, status, outcome, at=at)
    moved = replace(branch, current=frame.parent)
    return Decision((PutFrame(closed), PutBranch(moved), PutHead(session, branch.name)), closed)


def block_task(session: str, outcome: TaskOutcome, *, at: datetime) -> Plan[TaskFrame]:
    """Marks the current frame as blocked by what `outcome` says; the frame above it, if any, becomes the current one, so that
    other work can go on. Raises `InvalidInput` where the stack is empty."""
    branch, frame = yield from _top(session)
    blocked = replace(
        frame, status="blocked", result=outcome.text, version=frame.version + 1, updated_at=at, secrets=outcome.secrets
    )
    above = frame.id if frame.parent is None or frame.parent == branch.base else frame.parent
    return Decision((PutFrame(blocked), PutBranch(replace(branch, current=above)), PutHead(session, branch.name)), blocked)


def resume_task(session: str, id: str | None, *, at: datetime) -> Plan[TaskFrame]:
    """Makes an open frame of the running branch the current one, and active again. Without an `id`: the current frame where it
    is blocked, else the only blocked one below it. Raises `InvalidInput`, `NotFound`."""
    head = yield from read(HeadOf(session))
    if head is None:
        raise InvalidInput(_EMPTY)
    branch = head.branch
    frame = (yield from _blocked(branch)) if id is None else (yield from own_frame(id, session))
    if frame.branch != branch.name:
        raise InvalidInput(f"the task is of the branch {shown(frame.branch)}: switch to it first")
    if not frame.open:
        raise InvalidInput("the task has ended: push a new one")
    if frame.delegated is not None:
        raise InvalidInput("the task was given to another agent: finish() ends it")
    active = replace(frame, status="active", result=None, version=frame.version + 1, updated_at=at)
    changes = (PutFrame(active),) if frame.status == "blocked" else ()
    outcome = active if changes else frame
    return Decision((*changes, PutBranch(replace(branch, current=frame.id)), PutHead(session, branch.name)), outcome)


def standing(head: StackHead | None, frame: TaskFrame) -> TaskBranch:
    """Returns the branch that a new frame goes to: the running one, or a main one that the frame begins."""
    return TaskBranch(session=frame.session, name=MAIN, forked_at=frame.created_at) if head is None else head.branch


def current_task(session: str) -> Generator[Read[Any], Any, str | None]:
    """Returns the id of the frame that a session stands at; None where its stack is empty."""
    head: StackHead | None = yield from read(HeadOf(session))
    return None if head is None else head.branch.current


def current_frame(branch: TaskBranch) -> Generator[Read[Any], Any, TaskFrame | None]:
    """Returns the frame that a branch stands at; None where its stack is empty."""
    return None if branch.current is None else (yield from read(FrameById(branch.current)))


def own_frame(id: str, session: str) -> Generator[Read[Any], Any, TaskFrame]:
    """Returns a frame of this session. Raises `NotFound`."""
    frame = yield from read(FrameById(id))
    if frame is None or frame.session != session:
        raise NotFound(f"no task {shown(id)} in this session")
    found: TaskFrame = frame
    return found


def must_be_closed(frame: TaskFrame) -> Generator[Read[Any], Any, None]:
    """Raises `InvalidInput` where a frame has frames below it that haven't ended, and names them."""
    below: Sequence[TaskFrame] = yield from read(OpenChildren(frame.id))
    if below:
        named = ", ".join(f"{one.id} ({_kind(one)})" for one in below[:_NAMED])
        more = "" if len(below) <= _NAMED else f" and {len(below) - _NAMED} more"
        raise InvalidInput(
            f"the task has {len(below)} below it that are open: {named}{more}. Close each of them first: resume and pop it, "
            "finish it where it is delegated, inject or abandon its branch"
        )


def _kind(frame: TaskFrame) -> str:
    return "delegated" if frame.delegated is not None else frame.status


def _top(session: str) -> Generator[Read[Any], Any, tuple[TaskBranch, TaskFrame]]:
    head = yield from read(HeadOf(session))
    frame = None if head is None else (yield from current_frame(head.branch))
    if head is None or frame is None:
        raise InvalidInput(_EMPTY)
    if frame.branch != head.branch.name:
        raise InvalidInput(
            f"the branch {shown(head.branch.name)} has no open task of its own left: inject its result into another branch, "
            "abandon it, or push a task"
        )
    return head.branch, frame


def _blocked(branch: TaskBranch) -> Generator[Read[Any], Any, TaskFrame]:
    frame = yield from current_frame(branch)
    if frame is None:
        raise InvalidInput(_EMPTY)
    if frame.status == "blocked":
        return frame
    below = yield from read(OpenChildren(frame.id))
    blocked = [one for one in below if one.status == "blocked" and one.branch == branch.name]
    if len(blocked) != 1:
        raise InvalidInput(f"{len(blocked)} tasks below the current one are blocked: name the one to resume by its id")
    return blocked[0]
