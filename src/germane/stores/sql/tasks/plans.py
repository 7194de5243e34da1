"""Plans: answers the reads about tasks, applies the changes of plans, and forgets frames.

Reads and changes are bound to the scope's own partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.tasks.reads import (
    BranchesOf,
    BranchNamed,
    CheckpointNamed,
    DelegatedFrames,
    DelegationInto,
    FramesById,
    HeadOf,
    ListFrames,
    OpenChildren,
    OpenDelegations,
    PathTo,
    PutBranch,
    PutCheckpoint,
    PutFrame,
    PutHead,
    StackView,
)
from germane.kinds.tasks.value import (
    MAIN,
    MAX_BRANCHES,
    MAX_DEPTH,
    TaskBranch,
    TaskCheckpoint,
    TaskFrame,
    TaskView,
    task_view,
)
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.reading import Answers, nothing, of_own
from germane.stores.sql.statements import first, from_sql, only, rows, to_sql
from germane.stores.sql.tasks.task_rows import (
    BRANCH,
    CHECKPOINT,
    branch_named,
    branch_of,
    checkpoint_of,
    delegated_session,
    frames,
    frames_by_id,
    head_of,
    put_branch,
    put_checkpoint,
    put_frame,
    put_head,
)
from germane.stores.sql.transaction import Appliers, ScopeWriting

_OPEN_STATES = "status IN ('active', 'blocked')"
_OPEN = (
    "t.status IN ('active', 'blocked') AND t.parent = ? AND NOT EXISTS (SELECT 1 FROM task_branches b WHERE"
    " b.partition = t.partition AND b.session = t.session AND b.name = t.branch AND b.state <> 'open') ORDER BY t.key LIMIT 20"
)


def _listed(connection: Connection, own: VisiblePartition, read: ListFrames) -> tuple[TaskFrame, ...]:
    wanted = [("t.session = ?", None if read.session is None else to_sql(read.session)), ("t.status = ?", read.status)]
    clauses = [clause for clause, value in wanted if value is not None] or ["1"]
    values: tuple[Any, ...] = tuple(value for _, value in wanted if value is not None)
    return frames(connection, own, f"{' AND '.join(clauses)} ORDER BY t.key DESC LIMIT ?", (*values, read.limit))


def _branches(connection: Connection, own: VisiblePartition, read: BranchesOf) -> tuple[TaskBranch, ...]:
    sql = f"{BRANCH} AND session = ? ORDER BY forked_at, name"
    return tuple(map(branch_of, rows(connection, sql, (own.id, to_sql(read.session)))))


def _checkpoint(connection: Connection, own: VisiblePartition, read: CheckpointNamed) -> TaskCheckpoint | None:
    asked = (own.id, to_sql(read.session), to_sql(read.name))
    row = first(connection, f"{CHECKPOINT} AND session = ? AND name = ?", asked)
    return None if row is None else checkpoint_of(row)


def _delegated(connection: Connection, own: VisiblePartition, read: DelegatedFrames) -> tuple[TaskFrame, ...]:
    state = f" AND t.{_OPEN_STATES}" if read.open else ""
    clause = f"t.session = ? AND t.delegated IS NOT NULL{state} ORDER BY t.key DESC LIMIT ?"
    return frames(connection, own, clause, (to_sql(read.session), read.limit))


def _open_delegations(connection: Connection, own: VisiblePartition, read: OpenDelegations) -> int:
    sql = f"SELECT count(*) FROM tasks WHERE partition = ? AND session = ? AND delegated IS NOT NULL AND {_OPEN_STATES}"
    return int(only(connection, sql, (own.id, to_sql(read.session)))[0])


# Paths: the frames above, below and beside one frame.


_PATH = (
    "WITH RECURSIVE up (id, parent, level) AS (SELECT id, parent, 0 FROM tasks WHERE id = ?2 AND partition = ?1 UNION ALL"
    " SELECT t.id, t.parent, up.level + 1 FROM up JOIN tasks t ON t.id = up.parent AND t.partition = ?1"
    f" WHERE up.level < {MAX_DEPTH + 1}) SELECT id FROM up ORDER BY level DESC"
)
_BRANCHES = "SELECT name, parent, state FROM task_branches WHERE partition = ? AND session = ?"
_OF_BRANCH = "SELECT id FROM tasks WHERE partition = ? AND session = ? AND branch = ?"
_NEVER = datetime.min
_MAX_NEAR, _MAX_FAR = 32, 4
"""Frames that are read below and beside the current one, and beside each frame above, the latest first: more find no room."""
_RUNNING = "SELECT branch, moves FROM task_heads WHERE partition = ? AND session = ?"
_ENDED = "t.status IN ('complete', 'failed') AND"


def path_to(connection: Connection, partition: VisiblePartition, id: str) -> tuple[TaskFrame, ...]:
    """Returns the frames from the root to this one; () where the partition has no such frame."""
    ids = [one for (one,) in rows(connection, _PATH, (partition.id, id))]
    found = frames_by_id(connection, partition, ids)
    return tuple(found[one] for one in ids)


def view_of(connection: Connection, partition: VisiblePartition, session: str, id: str | None = None) -> TaskView | None:
    """Returns what an assembly of this session sees; None where no task is open. `id` names the frame that is to be the
    current one, which must be of this session."""
    row = first(connection, _RUNNING, (partition.id, to_sql(session)))
    running = None if row is None else branch_named(connection, partition, session, from_sql(row[0]))
    if row is None or running is None:
        return None
    current = running.current if id is None else id
    path = () if current is None else path_to(connection, partition, current)
    if not path or any(frame.session != session for frame in path):
        return None
    branch = running if id is None else branch_named(connection, partition, session, path[-1].branch) or running
    near = list(_below(connection, partition, session, path[-1].id, _MAX_NEAR, ""))
    for steps, frame in enumerate(reversed(path)):
        near += _below(connection, partition, session, frame.parent, _MAX_FAR if steps else _MAX_NEAR, _ENDED)
    forks = forks_of(connection, partition, branch)
    return task_view(path, near, forks, moves=row[1], elsewhere=_elsewhere(connection, partition, session, forks))


def forks_of(connection: Connection, partition: VisiblePartition, branch: TaskBranch) -> dict[str, datetime | None]:
    """Returns the branches whose frames this one sees: itself, and those above until it, or one between, left them."""
    forks: dict[str, datetime | None] = {branch.name: None}
    until: datetime | None = None
    here = branch
    while here.parent is not None and here.parent not in forks and len(forks) <= MAX_BRANCHES:
        until = here.forked_at if until is None else min(until, here.forked_at)
        forks[here.parent] = until
        above = branch_named(connection, partition, here.session, here.parent)
        if above is None or above.name == MAIN:
            break
        here = above
    return forks


def _elsewhere(
    connection: Connection, partition: VisiblePartition, session: str, forks: Mapping[str, datetime | None]
) -> dict[str, datetime | None]:
    """The frames of branches that aren't seen, or only until a time. A branch that was injected where it is seen is seen."""
    found = dict[str, datetime | None]()
    for name, parent, state in list(rows(connection, _BRANCHES, (partition.id, to_sql(session)))):
        branch = from_sql(name)
        if branch in forks and forks[branch] is None:
            continue
        if branch not in forks and state == "merged" and parent is not None and forks.get(from_sql(parent), _NEVER) is None:
            continue
        limit = forks.get(branch)
        found |= dict.fromkeys((id for (id,) in rows(connection, _OF_BRANCH, (partition.id, to_sql(session), name))), limit)
    return found


def _below(
    connection: Connection, partition: VisiblePartition, session: str, parent: str | None, limit: int, ended: str
) -> tuple[TaskFrame, ...]:
    if parent is None:
        clause = f"{ended} t.session = ? AND t.parent IS NULL ORDER BY t.key DESC LIMIT ?"
        return frames(connection, partition, clause, (to_sql(session), limit), children=False)
    return frames(connection, partition, f"{ended} t.parent = ? ORDER BY t.key DESC LIMIT ?", (parent, limit), children=False)


# The tables of the kind.


TASK_READS: Answers = {
    HeadOf: of_own(lambda connection, own, read: head_of(connection, own, read.session), nothing),
    StackView: of_own(lambda connection, own, read: view_of(connection, own, read.session, read.id), nothing),
    FramesById: of_own(lambda connection, own, read: frames_by_id(connection, own, read.ids), dict),
    PathTo: of_own(lambda connection, own, read: path_to(connection, own, read.id), tuple),
    ListFrames: of_own(_listed, tuple),
    OpenChildren: of_own(lambda connection, own, read: frames(connection, own, _OPEN, (read.id,)), tuple),
    BranchNamed: of_own(lambda connection, own, read: branch_named(connection, own, read.session, read.name), nothing),
    BranchesOf: of_own(_branches, tuple),
    CheckpointNamed: of_own(_checkpoint, nothing),
    DelegationInto: lambda reading, read: delegated_session(reading.connection, reading.scope.within(read.session)),
    DelegatedFrames: of_own(_delegated, tuple),
    OpenDelegations: of_own(_open_delegations, int),
}


def _put_frame(writing: ScopeWriting, change: PutFrame) -> None:
    """Raises `InvalidInput` for a frame of somebody else."""
    if change.frame.user != writing.scope.user:
        raise InvalidInput("a task must belong to the scope's own user, or be agent-wide where it has none")
    _put(writing, lambda partition: put_frame(writing.connection, partition, change.frame))


def _put(writing: ScopeWriting, put: Callable[[int], None]) -> None:
    partition = writing.own_id()
    put(partition)
    writing.transaction.touch((partition,))


TASK_CHANGES: Appliers = {
    PutFrame: _put_frame,
    PutBranch: lambda to, change: _put(to, lambda partition: put_branch(to.connection, partition, change.branch)),
    PutHead: lambda to, change: _put(
        to, lambda partition: put_head(to.connection, partition, change.session, change.branch, change.moves)
    ),
    PutCheckpoint: lambda to, change: _put(to, lambda partition: put_checkpoint(to.connection, partition, change.checkpoint)),
}
