"""Task rows: frames, branches and checkpoints as rows, read and written within one partition."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from germane.stores.sqlite.encoding import (
    LISTED,
    maybe_micros,
    maybe_moment,
    micros,
    moment,
    provenance_of,
    sensitivity_of,
    shown,
    stored,
    to_json,
    written_provenance,
)
from germane.stores.sqlite.rows import Row, first, only, rows
from germane.stores.sqlite.task_pointers import put_pointers
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.tasks.branching import StackHead, TaskBranch, TaskCheckpoint
from germane.tasks.frame import TaskArtifact, TaskFrame
from germane.types.candidate import Sensitivity

__all__ = [
    "BRANCH",
    "CHECKPOINT",
    "branch_named",
    "branch_of",
    "checkpoint_of",
    "frame_of",
    "frames",
    "frames_by_id",
    "head_of",
    "maybe_stored",
    "put_branch",
    "put_checkpoint",
    "put_frame",
    "put_head",
]

_LEVELS: tuple[Sensitivity, ...] = ("public", "private", "sensitive")
_MAX_CHILDREN = 1_000
_FRAME = (
    "SELECT t.id, t.session, t.branch, t.parent, t.depth, t.status, t.goal, t.result, t.artifacts, t.provenance, t.sensitivity,"
    " t.version, t.delegated, t.child_session, t.delegation_depth, t.allowed, t.created_at, t.updated_at, t.closed_at, {}"
    " FROM tasks t WHERE t.partition = ?"
)
_CHILDREN = (
    "(SELECT json_group_array(id) FROM (SELECT c.id FROM tasks c WHERE c.partition = t.partition AND c.parent = t.id"
    f" ORDER BY c.key LIMIT {_MAX_CHILDREN}))"
)
_INSERT = (
    "INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
    " status = excluded.status, goal = excluded.goal, result = excluded.result, artifacts = excluded.artifacts,"
    " provenance = excluded.provenance, version = excluded.version, updated_at = excluded.updated_at,"
    " closed_at = excluded.closed_at WHERE partition = excluded.partition"
)
BRANCH = "SELECT session, name, parent, base, root, current, state, forked_at, closed_at FROM task_branches WHERE partition = ?"
"""The rows that `branch_of` takes."""
CHECKPOINT = "SELECT session, name, branch, frame, created_at FROM task_checkpoints WHERE partition = ?"
"""The rows that `checkpoint_of` takes."""
_HEAD = (
    "SELECT h.branch, h.moves,"
    " (SELECT count(*) FROM tasks WHERE partition = ?1 AND session = ?2 AND status IN ('active', 'blocked')),"
    " (SELECT count(*) FROM tasks WHERE partition = ?1 AND session = ?2),"
    " (SELECT count(*) FROM task_branches WHERE partition = ?1 AND session = ?2),"
    " (SELECT count(*) FROM task_checkpoints WHERE partition = ?1 AND session = ?2)"
    " FROM task_heads h WHERE h.partition = ?1 AND h.session = ?2"
)


def frame_of(row: Row, user: str | None) -> TaskFrame:
    """Returns the frame in a row of `frames`."""
    return TaskFrame(
        id=row[0],
        session=shown(row[1]),
        branch=shown(row[2]),
        parent=row[3],
        depth=row[4],
        status=row[5],
        goal=shown(row[6]),
        result=None if row[7] is None else shown(row[7]),
        artifacts=tuple(TaskArtifact(id=id, title=title) for id, title in json.loads(row[8])),
        provenance=provenance_of(row[9]),
        sensitivity=sensitivity_of(row[10]),
        version=row[11],
        delegated=row[12],
        child_session=None if row[13] is None else shown(row[13]),
        delegation_depth=row[14],
        allowed=tuple(json.loads(row[15])),
        created_at=moment(row[16]),
        updated_at=moment(row[17]),
        closed_at=maybe_moment(row[18]),
        children=tuple(json.loads(row[19])),
        user=user,
    )


def frames(
    connection: apsw.Connection, partition: VisiblePartition, clause: str, values: Sequence[Any] = (), *, children: bool = True
) -> tuple[TaskFrame, ...]:
    """Returns the frames of a partition that match an SQL condition on `t`, which may end with an order and a limit; without
    the ids of their children where nobody needs these."""
    select = _FRAME.format(_CHILDREN if children else "'[]'")
    found = rows(connection, f"{select} AND {clause}", (partition.id, *values))
    return tuple(frame_of(row, partition.user) for row in found)


def frames_by_id(connection: apsw.Connection, partition: VisiblePartition, ids: Sequence[str]) -> dict[str, TaskFrame]:
    """Returns the frames of a partition with these ids, by id."""
    sql = f"{_FRAME.format(_CHILDREN)} AND t.id IN {LISTED}"
    sql = sql.replace("FROM tasks t", "FROM tasks t INDEXED BY tasks_id")  # SQLite would read the whole partition
    found = rows(connection, sql, (partition.id, to_json(list(ids))))
    return {row[0]: frame_of(row, partition.user) for row in found}


def head_of(connection: apsw.Connection, partition: VisiblePartition, session: str) -> StackHead | None:
    """Returns where a session stands; None where it never had a task."""
    row = first(connection, _HEAD, (partition.id, stored(session)))
    if row is None:
        return None
    branch = branch_named(connection, partition, session, shown(row[0]))
    if branch is None:
        return None
    return StackHead(branch=branch, moves=row[1], open=row[2], frames=row[3], branches=row[4], checkpoints=row[5])


def branch_named(connection: apsw.Connection, partition: VisiblePartition, session: str, name: str) -> TaskBranch | None:
    row = first(connection, f"{BRANCH} AND session = ? AND name = ?", (partition.id, stored(session), stored(name)))
    return None if row is None else branch_of(row)


def branch_of(row: Row) -> TaskBranch:
    """Returns the branch in a row of `BRANCH`."""
    session, name, parent, base, root, current, state, forked_at, closed_at = row
    return TaskBranch(
        session=shown(session),
        name=shown(name),
        parent=None if parent is None else shown(parent),
        base=base,
        root=root,
        current=current,
        state=state,
        forked_at=moment(forked_at),
        closed_at=maybe_moment(closed_at),
    )


def checkpoint_of(row: Row) -> TaskCheckpoint:
    """Returns the checkpoint in a row of `CHECKPOINT`."""
    session, name, branch, frame, created_at = row
    return TaskCheckpoint(
        session=shown(session), name=shown(name), branch=shown(branch), frame=frame, created_at=moment(created_at)
    )


def put_frame(connection: apsw.Connection, partition: int, frame: TaskFrame) -> None:
    """Inserts a frame, or updates the one of this partition with its id; one of another partition stays as it is."""
    known = first(connection, "SELECT key FROM tasks WHERE id = ?", (frame.id,))
    if known is None:
        connection.execute("UPDATE counters SET tasks = tasks + 1")
    key = only(connection, "SELECT tasks FROM counters")[0] if known is None else known[0]
    row = (
        key,
        frame.id,
        partition,
        stored(frame.session),
        stored(frame.branch),
        frame.parent,
        frame.depth,
        frame.status,
        stored(frame.goal),
        maybe_stored(frame.result),
        to_json([[one.id, one.title] for one in frame.artifacts]),
        written_provenance(frame.provenance),
        _LEVELS.index(frame.sensitivity),
        frame.version,
        frame.delegated,
        maybe_stored(frame.child_session),
        frame.delegation_depth,
        to_json(list(frame.allowed)),
        micros(frame.created_at),
        micros(frame.updated_at),
        maybe_micros(frame.closed_at),
    )
    connection.execute(_INSERT, row)
    put_pointers(connection, key, (one.id for one in frame.artifacts))


def put_branch(connection: apsw.Connection, partition: int, branch: TaskBranch) -> None:
    row = (
        partition,
        stored(branch.session),
        stored(branch.name),
        maybe_stored(branch.parent),
        branch.base,
        branch.root,
        branch.current,
        branch.state,
        micros(branch.forked_at),
        maybe_micros(branch.closed_at),
    )
    connection.execute("INSERT OR REPLACE INTO task_branches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def put_head(connection: apsw.Connection, partition: int, session: str, branch: str, moves: int | None = None) -> None:
    """Sets the running branch and counts a move; a new session begins with `moves`, where given."""
    sql = (
        "INSERT INTO task_heads VALUES (?, ?, ?, ?) ON CONFLICT (partition, session) DO UPDATE SET branch = excluded.branch,"
        " moves = moves + 1"
    )
    connection.execute(sql, (partition, stored(session), stored(branch), 1 if moves is None else moves))


def put_checkpoint(connection: apsw.Connection, partition: int, checkpoint: TaskCheckpoint) -> None:
    row = (
        partition,
        stored(checkpoint.session),
        stored(checkpoint.name),
        stored(checkpoint.branch),
        checkpoint.frame,
        micros(checkpoint.created_at),
    )
    connection.execute("INSERT OR REPLACE INTO task_checkpoints VALUES (?, ?, ?, ?, ?, ?)", row)


def maybe_stored(text: str | None) -> str | bytes | None:
    return None if text is None else stored(text)
