"""Branches and delegation: a branch of a task stack that runs beside it, and the tasks that another agent takes over."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.errors import Conflict, InvalidInput, NotFound, NotPermitted
from germane.kinds.tasks.plans import TaskOutcome, closed_frame, current_frame, must_be_closed, running_branch
from germane.kinds.tasks.reads import (
    BranchNamed,
    CheckpointNamed,
    DelegationInto,
    HeadOf,
    OpenDelegations,
    PutBranch,
    PutCheckpoint,
    PutFrame,
    PutHead,
    frame_by_id,
)
from germane.kinds.tasks.value import (
    BRANCH,
    MAIN,
    MAX_BRANCHES,
    BranchState,
    DelegatedSession,
    DelegationLimits,
    StackHead,
    TaskArtifact,
    TaskBranch,
    TaskCheckpoint,
    TaskFrame,
    TaskStatus,
    check_room,
)
from germane.types.candidate import Provenance, Sensitivity
from germane.types.checks import check_text
from germane.types.limits import LABEL
from germane.types.plan import Change, Decision, Plan, Read, read, uuid7
from germane.types.scope import Scope


def branch_name(what: str, value: object) -> str:
    """Returns the name of a branch or checkpoint, without white space at its ends. Raises `InvalidInput`."""
    name = check_text(what, value, LABEL).strip()
    if not name or not name.isprintable():
        raise InvalidInput("must be a name that can be printed, on one line", path=what)
    return name


def make_checkpoint(name: str, session: str, *, at: datetime) -> Plan[TaskCheckpoint]:
    """Remembers where the session stands under a name; a checkpoint of that name moves here. Raises `InvalidInput`."""
    head = yield from _head(session)
    known = yield from read(CheckpointNamed(session, name))
    if known is None and head.checkpoints >= MAX_BRANCHES:
        raise InvalidInput(
            f"the session has {head.checkpoints} checkpoints, {MAX_BRANCHES} are allowed", advice="use their names again"
        )
    made = TaskCheckpoint(session=session, name=name, branch=head.branch.name, frame=head.branch.current, created_at=at)
    return Decision((PutCheckpoint(made),), made)


def open_branch(name: str, frame: TaskFrame, *, checkpoint: str | None, same_goal: bool) -> Plan[TaskFrame]:
    """Opens a branch where the session stands, or at a checkpoint, with `frame` as a task of its own, and switches to it. With
    `same_goal` the frame gets the goal of the task that the branch leaves from, where there is one. Raises `Conflict` where the
    name is taken, `NotFound` for an unknown checkpoint, and `InvalidInput`."""
    session = frame.session
    head = yield from _head(session)
    if (yield from read(BranchNamed(session, name))) is not None:
        raise Conflict("the session has a branch {} already", name, advice="switch to it, or choose another name")
    if head.branches >= MAX_BRANCHES:
        raise InvalidInput(
            f"the session has {head.branches} branches, {MAX_BRANCHES} are allowed", advice="go on in another session"
        )
    origin, base = head.branch.name, head.branch.current
    if checkpoint is not None:
        place = yield from read(CheckpointNamed(session, checkpoint))
        if place is None:
            raise NotFound("no checkpoint {} in this session", checkpoint)
        origin, base = place.branch, place.frame
    parent = None if base is None else (yield from frame_by_id(base))
    if parent is not None and not parent.open:
        raise InvalidInput("the task of the checkpoint has ended", advice="make the branch at a task that is open")
    goal = parent.goal if same_goal and parent is not None else frame.goal
    root = replace(frame, goal=goal, branch=name, parent=base, depth=0 if parent is None else parent.depth + 1)
    check_room(head, root.depth)
    at = root.created_at
    made = TaskBranch(session=session, name=name, parent=origin, base=base, root=root.id, current=root.id, forked_at=at)
    return Decision((PutFrame(root), PutBranch(made), PutHead(session, name)), root)


def switch_branch(name: str, session: str) -> Plan[TaskBranch]:
    """Makes a branch the running one. Idempotent. Raises `NotFound`, and `InvalidInput` where the branch has ended."""
    head = yield from _head(session)
    branch = yield from _branch(session, name)
    if branch.state != "open":
        raise InvalidInput(f"the branch {{}} was {branch.state}", name, advice="open another one")
    if branch.name == head.branch.name:
        return Decision((), branch)
    return Decision((PutHead(session, name),), branch)


def inject_branch(name: str, session: str, outcome: TaskOutcome | None, *, user: str | None, at: datetime) -> Plan[TaskFrame]:
    """Brings a branch's result back: adds a completed frame with it below the current frame of the running branch, and ends
    the branch. `outcome` replaces the result that the branch's own task ended with, and is needed where that is still open.
    Raises `NotFound`, and `InvalidInput` for the running branch, for one that has ended, and where tasks of it are open."""
    head = yield from _head(session)
    branch = yield from _branch(session, name)
    if branch.name == head.branch.name:
        raise InvalidInput(
            "the branch is the running one", advice="switch to the branch that its result is for, then inject it"
        )
    if branch.state != "open" or branch.root is None:
        raise InvalidInput(f"the branch {{}} has no result to bring back, as it is {_state(branch)}", name)
    root = yield from frame_by_id(branch.root)
    if root is None:
        raise InvalidInput("the task of the branch {} was forgotten", name, advice="abandon the branch")
    changes = list[Change]()
    if root.open:
        if outcome is None:
            raise InvalidInput("the task of the branch is open", advice="pop it first, or give its result")
        yield from must_be_closed(root)
        root = closed_frame(root, "complete", outcome, at=at)
        changes.append(PutFrame(root))
    target = yield from current_frame(head.branch)
    brought = replace(
        root,
        id=uuid7(int(at.timestamp() * 1000)),
        branch=head.branch.name,
        parent=None if target is None else target.id,
        depth=0 if target is None else target.depth + 1,
        children=(),
        result=root.result if outcome is None or outcome.text is None else outcome.text,
        artifacts=(TaskArtifact(id=root.id, title=f"branch {name}"), *root.artifacts),
        user=user,
        version=1,
        provenance=Provenance(session=session, refs=(root.id,), metadata={BRANCH: name}),
        created_at=at,
        updated_at=at,
        closed_at=at,
    )
    check_room(head, brought.depth)
    ended = _ended(branch, "merged", at)
    return Decision((*changes, PutFrame(brought), PutBranch(ended), PutHead(session, head.branch.name)), brought)


def abandon_branch(name: str, session: str, *, at: datetime) -> Plan[TaskBranch]:
    """Ends a branch without a result; the branch that it left becomes the running one where it ran. Its open tasks count no
    more. Idempotent. Raises `NotFound`, and `InvalidInput` for the main branch."""
    if name == MAIN:
        raise InvalidInput("the branch {} can't be abandoned", MAIN, advice="pop its tasks instead")
    head = yield from _head(session)
    branch = yield from _branch(session, name)
    if branch.state != "open":
        return Decision((), branch)
    ended = _ended(branch, "abandoned", at)
    changes: tuple[Change, ...] = (PutBranch(ended),)
    if head.branch.name == name:
        back = yield from _open_above(branch)
        changes = (*changes, PutHead(session, back))
    return Decision(changes, ended)


def _ended(branch: TaskBranch, state: BranchState, at: datetime) -> TaskBranch:
    return replace(branch, state=state, closed_at=at)


def _state(branch: TaskBranch) -> str:
    return "the main one" if branch.parent is None else branch.state


def _open_above(branch: TaskBranch) -> Generator[Read[Any], Any, str]:
    """The nearest branch above this one that is open."""
    above = branch.parent
    for _ in range(MAX_BRANCHES):
        if above is None or above == MAIN:
            break
        found = yield from read(BranchNamed(branch.session, above))
        if found is None or found.state == "open":
            break
        above = found.parent
    return above or MAIN


def _head(session: str) -> Generator[Read[Any], Any, StackHead]:
    head = yield from read(HeadOf(session))
    if head is None:
        raise InvalidInput("the session has no task", advice="push one first")
    found: StackHead = head
    return found


def _branch(session: str, name: str) -> Generator[Read[Any], Any, TaskBranch]:
    branch = yield from read(BranchNamed(session, name))
    if branch is None:
        raise NotFound("no branch {} in this session", name)
    found: TaskBranch = branch
    return found


# Delegation: the plans that give a task to another agent, and take its result back (TASK-4).


_DEFAULT_SENSITIVITIES: tuple[Sensitivity, ...] = ("public", "private")
"""What a delegated agent may see unless its parent says otherwise."""


def delegate_task(frame: TaskFrame, *, limits: DelegationLimits, allowed: tuple[Sensitivity, ...] | None) -> Plan[TaskFrame]:
    """Puts a delegated frame below the current one, which stays the current one: several may run at the same time. `allowed`
    are the sensitivities that its agent may see; None takes those of the parent. Raises `InvalidInput` beyond the limits, and
    `NotPermitted` for a sensitivity that the parent, where it was delegated itself, may not see."""
    head = yield from read(HeadOf(frame.session))
    above = yield from read(DelegationInto(frame.session))
    depth = _depth(above, limits)
    if (running := (yield from read(OpenDelegations(frame.session)))) >= limits.open:
        raise InvalidInput(
            f"the session has {running} delegated tasks that run, {limits.open} are allowed",
            advice="finish some of them first, or raise the setting delegations",
        )
    may = _DEFAULT_SENSITIVITIES if above is None else above.allowed
    if above is not None and allowed is not None:
        check_sensitivities(allowed, above.allowed)
    branch = running_branch(head, frame)
    parent = yield from current_frame(branch)
    placed = replace(
        frame,
        parent=None if parent is None else parent.id,
        branch=branch.name,
        depth=0 if parent is None else parent.depth + 1,
        delegation_depth=depth,
        allowed=may if allowed is None else allowed,
    )
    check_room(head, placed.depth)
    changes: tuple[Change, ...] = (PutFrame(placed), PutBranch(branch), PutHead(frame.session, branch.name))
    return Decision(changes, placed)


def finish_task(id: str, status: TaskStatus, outcome: TaskOutcome, *, at: datetime) -> Plan[TaskFrame]:
    """Ends a delegated frame with the result that its agent brought. The result's provenance says that it is another agent's.
    Raises `NotFound`, and `InvalidInput` for a frame that wasn't delegated or has ended, and where tasks below it are open."""
    frame = yield from _delegated(id)
    yield from must_be_closed(frame)
    origin = Provenance(
        source_kind="tool",
        channel="delegation",
        session=frame.child_session,
        refs=tuple(one.id for one in outcome.artifacts),
        metadata={"mode": frame.delegated, "depth": frame.delegation_depth},
    )
    closed = closed_frame(frame, status, outcome, at=at, provenance=origin)
    head = yield from read(HeadOf(frame.session))
    moved = () if head is None else (PutHead(frame.session, head.branch.name),)
    return Decision((PutFrame(closed), *moved), closed)


def check_narrower(parent: Scope, child: Scope) -> None:
    """Raises `NotPermitted` where a delegated agent's scope isn't its parent's own, or the agent-wide part of that."""
    for name in ("org", "agent"):
        if getattr(child, name) != getattr(parent, name):
            raise NotPermitted(
                f"a delegated agent works within its parent's {name}: leave the scope out, or name the same {name}"
            )
    if child.user not in (None, parent.user):
        raise NotPermitted("a delegated agent sees no user but its parent's: leave the user out, or name the same one")


def check_sensitivities(asked: tuple[Sensitivity, ...], allowed: tuple[Sensitivity, ...]) -> None:
    """Raises `NotPermitted` where a delegated agent asks for a sensitivity that it may not see."""
    if more := [one for one in asked if one not in allowed]:
        may = ", ".join(allowed) or "nothing"
        raise NotPermitted(f"sensitivities {', '.join(more)} are more than a delegated agent here may see, which is {may}")


def _depth(above: DelegatedSession | None, limits: DelegationLimits) -> int:
    depth = 1 if above is None else above.depth + 1
    if above is not None and not above.open:
        raise InvalidInput("the task of this session was delegated and has ended", advice="begin another one")
    if depth > limits.depth:
        raise InvalidInput(
            f"the task would be delegated {depth} levels deep, {limits.depth} are allowed",
            advice="do it here, or raise the setting delegation_depth",
        )
    return depth


def _delegated(id: str) -> Generator[Read[Any], Any, TaskFrame]:
    frame = yield from frame_by_id(id)
    if frame is None:
        raise NotFound("no task {} here", id)
    if frame.delegated is None:
        raise InvalidInput("the task wasn't delegated", advice="pop it in its session")
    if not frame.open:
        raise InvalidInput("the task has its result already: delegate another one")
    found: TaskFrame = frame
    return found
