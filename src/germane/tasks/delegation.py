"""Delegation: the plans that give a task to another agent, and take its result back (TASK-4)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.errors import InvalidInput, NotFound, NotPermitted
from germane.tasks.frame import TaskFrame, TaskStatus
from germane.tasks.limits import DelegatedSession, DelegationLimits, check_room
from germane.tasks.new_frame import TaskOutcome, closed_frame
from germane.tasks.operations import DelegationInto, FrameById, HeadOf, OpenDelegations, PutBranch, PutFrame, PutHead
from germane.tasks.stack import current_frame, must_be_closed, standing
from germane.types.candidate import Provenance, Sensitivity
from germane.types.limits import shown
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope

__all__ = ["check_narrower", "check_sensitivities", "delegate_task", "finish_task"]

_USUAL: tuple[Sensitivity, ...] = ("public", "private")
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
            f"the session has {running} delegated tasks that run, {limits.open} are allowed: finish some of them first, or"
            " raise the setting delegations"
        )
    may = _USUAL if above is None else above.allowed
    if above is not None and allowed is not None:
        check_sensitivities(allowed, above.allowed)
    branch = standing(head, frame)
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
        raise InvalidInput("the task of this session was delegated and has ended: begin another one")
    if depth > limits.depth:
        raise InvalidInput(
            f"the task would be delegated {depth} levels deep, {limits.depth} are allowed: do it here, or raise the setting"
            " delegation_depth"
        )
    return depth


def _delegated(id: str) -> Generator[Read[Any], Any, TaskFrame]:
    frame = yield from read(FrameById(id))
    if frame is None:
        raise NotFound(f"no task {shown(id)} here")
    if frame.delegated is None:
        raise InvalidInput("the task wasn't delegated: pop it in its session")
    if not frame.open:
        raise InvalidInput("the task has its result already: delegate another one")
    found: TaskFrame = frame
    return found
