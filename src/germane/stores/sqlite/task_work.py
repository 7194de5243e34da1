"""Task work: answers the reads of one plan about tasks, and applies its changes, within the scope's own partition."""

from __future__ import annotations

from typing import Any

from germane.errors import InvalidInput
from germane.stores.sqlite.delegated_sessions import delegated_session
from germane.stores.sqlite.encoding import LISTED, stored, to_json
from germane.stores.sqlite.rows import first, only, rows
from germane.stores.sqlite.task_paths import path_to
from germane.stores.sqlite.tasks import (
    CHECKPOINT,
    branch_named,
    checkpoint_of,
    frames,
    frames_by_id,
    head_of,
    put_branch,
    put_checkpoint,
    put_frame,
    put_head,
)
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.tasks.operations import (
    BranchNamed,
    CheckpointNamed,
    DelegationInto,
    FrameById,
    FramesById,
    HeadOf,
    OpenChildren,
    OpenDelegations,
    PathTo,
    PutBranch,
    PutCheckpoint,
    PutFrame,
    PutHead,
    TaskIds,
    TaskIdsInUse,
)
from germane.types.plan import Change, Read
from germane.types.scope import Scope

__all__ = ["TASK_CHANGES", "TASK_READS", "answer_task", "apply_task"]

TASK_READS = (
    *(HeadOf, FrameById, FramesById, PathTo, OpenChildren, BranchNamed, CheckpointNamed, DelegationInto, OpenDelegations),
    TaskIdsInUse,
)
TASK_CHANGES = (PutFrame, PutBranch, PutHead, PutCheckpoint)
_OPEN = (
    "t.status IN ('active', 'blocked') AND t.parent = ? AND NOT EXISTS (SELECT 1 FROM task_branches b WHERE"
    " b.partition = t.partition AND b.session = t.session AND b.name = t.branch AND b.state <> 'open') ORDER BY t.key LIMIT 20"
)


def answer_task(transaction: Transaction, scope: Scope, own: VisiblePartition | None, read: Read[Any]) -> Any:
    """Answers a read of `TASK_READS`; `own` is the partition of the scope's own user, None where it doesn't exist."""
    connection = transaction.connection
    if isinstance(read, TaskIdsInUse):
        return _in_use(transaction, own, read)
    if isinstance(read, DelegationInto):
        return delegated_session(connection, scope.within(read.session))
    if own is None:
        return _nothing(read)
    match read:
        case HeadOf(session):
            return head_of(connection, own, session)
        case FrameById(id):
            return frames_by_id(connection, own, (id,)).get(id)
        case FramesById(ids):
            return frames_by_id(connection, own, ids)
        case PathTo(id):
            return path_to(connection, own, id)
        case OpenChildren(id):
            return frames(connection, own, _OPEN, (id,))
        case BranchNamed(session, name):
            return branch_named(connection, own, session, name)
        case CheckpointNamed(session, name):
            asked = (own.id, stored(session), stored(name))
            row = first(connection, f"{CHECKPOINT} AND session = ? AND name = ?", asked)
            return None if row is None else checkpoint_of(row)
        case OpenDelegations(session):
            sql = (
                "SELECT count(*) FROM tasks WHERE partition = ? AND session = ? AND delegated IS NOT NULL"
                " AND status IN ('active', 'blocked')"
            )
            return only(connection, sql, (own.id, stored(session)))[0]
    raise InvalidInput(f"the store can't answer {type(read).__name__}")


def apply_task(transaction: Transaction, scope: Scope, change: Change) -> None:
    """Applies a change of `TASK_CHANGES`. Raises `InvalidInput` for a frame of somebody else."""
    if isinstance(change, PutFrame) and change.frame.user != scope.user:
        raise InvalidInput("a task must belong to the scope's own user, or be agent-wide where it has none")
    partition, connection = transaction.own(scope), transaction.connection
    match change:
        case PutFrame(frame):
            put_frame(connection, partition, frame)
        case PutBranch(branch):
            put_branch(connection, partition, branch)
        case PutHead(session, branch, moves):
            put_head(connection, partition, session, branch, moves)
        case PutCheckpoint(checkpoint):
            put_checkpoint(connection, partition, checkpoint)
    transaction.touch((partition,))


def _nothing(read: Read[Any]) -> Any:
    """The answer where the scope has stored nothing yet."""
    match read:
        case FramesById():
            return {}
        case PathTo() | OpenChildren():
            return ()
        case OpenDelegations():
            return 0
    return None


def _in_use(transaction: Transaction, own: VisiblePartition | None, read: TaskIdsInUse) -> TaskIds:
    connection, wanted = transaction.connection, to_json(list(read.ids))
    mine = {} if own is None else frames_by_id(connection, own, read.ids)
    forgotten = frozenset(id for (id,) in rows(connection, f"SELECT id FROM tombstones WHERE id IN {LISTED}", (wanted,)))
    taken = {id for (id,) in rows(connection, f"SELECT id FROM tasks WHERE id IN {LISTED}", (wanted,))}
    return TaskIds(mine, forgotten, frozenset(taken - mine.keys()))
