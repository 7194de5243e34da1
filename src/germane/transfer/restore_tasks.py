"""Restore tasks: the plans that store the tasks of an export as they were, and where each session stands with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.tasks.frame import TaskFrame
from germane.tasks.operations import HeadOf, PutBranch, PutCheckpoint, PutFrame, PutHead, TaskIdsInUse
from germane.transfer.placed import Placed
from germane.transfer.stored import StoredStack
from germane.types.plan import Change, Decision, Plan, read

__all__ = ["restore_stacks", "restore_tasks"]


def restore_tasks(frames: Sequence[TaskFrame], *, strict: bool) -> Plan[Placed]:
    """Stores the tasks that aren't there. A task is there where its id has the same session and was created at the same time:
    how it stands may have changed since, and stays. `strict`: where any of them clashes, none is stored."""
    use = yield from read(TaskIdsInUse(tuple(frame.id for frame in frames)))
    placed, changes, known = Placed(), list[Change](), dict(use.own)
    for index, frame in enumerate(frames):
        held = known.get(frame.id)
        if frame.id in use.forgotten:
            placed.forgotten += 1
        elif frame.id in use.elsewhere:
            placed.clash(index, "its id belongs to another scope of this store")
        elif held is None:
            known[frame.id] = frame
            changes.append(PutFrame(frame))
        elif (held.session, held.created_at) == (frame.session, frame.created_at):
            placed.known += 1
        else:
            placed.clash(index, "its id is stored already, with other content")
    if strict and placed.clashes:
        return Decision((), placed)
    placed.added = len(changes)
    return Decision(tuple(changes), placed)


def restore_stacks(stacks: Sequence[StoredStack]) -> Plan[Placed]:
    """Stores where the sessions stand that have no tasks here yet; the others stay where they stand. What a stack says of tasks
    that were forgotten here is left out."""
    placed, changes = Placed(), list[Change]()
    for stack in stacks:
        if (yield from read(HeadOf(stack.session))) is not None:
            placed.known += 1
            continue
        placed.added += 1
        named = {id for one in stack.branches for id in (one.base, one.root, one.current)}
        named |= {one.frame for one in stack.checkpoints}
        here = (yield from read(TaskIdsInUse(tuple(sorted(id for id in named if id is not None))))).own
        for one in stack.branches:
            base, root, current = (id if id in here else None for id in (one.base, one.root, one.current))
            changes.append(PutBranch(replace(one, base=base, root=root, current=current)))
        for place in stack.checkpoints:
            changes.append(PutCheckpoint(place if place.frame in here else replace(place, frame=None)))
        changes.append(PutHead(stack.session, stack.branch, stack.moves))
    return Decision(tuple(changes), placed)
