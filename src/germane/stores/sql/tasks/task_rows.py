"""Task rows: frames, branches and checkpoints as rows, read and written within one partition."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from germane.kinds.tasks.value import StackHead, TaskArtifact, TaskBranch, TaskCheckpoint, TaskFrame
from germane.stores.sql.connection import Connection
from germane.stores.sql.injections import withdraw
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.statements import (
    LISTED,
    Row,
    first,
    from_sql,
    maybe_micros,
    maybe_moment,
    maybe_to_sql,
    micros,
    moment,
    only,
    provenance_of,
    rows,
    sensitivity_of,
    to_json,
    to_sql,
    written_provenance,
)
from germane.stores.sql.transaction import Transaction
from germane.types.candidate import SENSITIVITIES

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
        session=from_sql(row[1]),
        branch=from_sql(row[2]),
        parent=row[3],
        depth=row[4],
        status=row[5],
        goal=from_sql(row[6]),
        result=None if row[7] is None else from_sql(row[7]),
        artifacts=tuple(TaskArtifact(id=id, title=title) for id, title in json.loads(row[8])),
        provenance=provenance_of(row[9]),
        sensitivity=sensitivity_of(row[10]),
        version=row[11],
        delegated=row[12],
        child_session=None if row[13] is None else from_sql(row[13]),
        delegation_depth=row[14],
        allowed=tuple(json.loads(row[15])),
        created_at=moment(row[16]),
        updated_at=moment(row[17]),
        closed_at=maybe_moment(row[18]),
        children=tuple(json.loads(row[19])),
        user=user,
    )


def frames(
    connection: Connection, partition: VisiblePartition, clause: str, values: Sequence[Any] = (), *, children: bool = True
) -> tuple[TaskFrame, ...]:
    """Returns the frames of a partition that match an SQL condition on `t`, which may end with an order and a limit; without
    the ids of their children where nobody needs these."""
    select = _FRAME.format(_CHILDREN if children else "'[]'")
    found = rows(connection, f"{select} AND {clause}", (partition.id, *values))
    return tuple(frame_of(row, partition.user) for row in found)


def frames_by_id(connection: Connection, partition: VisiblePartition, ids: Sequence[str]) -> dict[str, TaskFrame]:
    """Returns the frames of a partition with these ids, by id."""
    sql = f"{_FRAME.format(_CHILDREN)} AND t.id IN {LISTED}"
    sql = sql.replace("FROM tasks t", "FROM tasks t INDEXED BY tasks_id")  # SQLite would read the whole partition
    found = rows(connection, sql, (partition.id, to_json(list(ids))))
    return {row[0]: frame_of(row, partition.user) for row in found}


def head_of(connection: Connection, partition: VisiblePartition, session: str) -> StackHead | None:
    """Returns where a session stands; None where it never had a task."""
    row = first(connection, _HEAD, (partition.id, to_sql(session)))
    if row is None:
        return None
    branch = branch_named(connection, partition, session, from_sql(row[0]))
    if branch is None:
        return None
    return StackHead(branch=branch, moves=row[1], open=row[2], frames=row[3], branches=row[4], checkpoints=row[5])


def branch_named(connection: Connection, partition: VisiblePartition, session: str, name: str) -> TaskBranch | None:
    row = first(connection, f"{BRANCH} AND session = ? AND name = ?", (partition.id, to_sql(session), to_sql(name)))
    return None if row is None else branch_of(row)


def branch_of(row: Row) -> TaskBranch:
    """Returns the branch in a row of `BRANCH`."""
    session, name, parent, base, root, current, state, forked_at, closed_at = row
    return TaskBranch(
        session=from_sql(session),
        name=from_sql(name),
        parent=None if parent is None else from_sql(parent),
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
        session=from_sql(session), name=from_sql(name), branch=from_sql(branch), frame=frame, created_at=moment(created_at)
    )


def put_frame(connection: Connection, partition: int, frame: TaskFrame) -> None:
    """Inserts a frame, or updates the one of this partition with its id; one of another partition stays as it is."""
    known = first(connection, "SELECT key FROM tasks WHERE id = ?", (frame.id,))
    if known is None:
        connection.execute("UPDATE counters SET tasks = tasks + 1")
    key = only(connection, "SELECT tasks FROM counters")[0] if known is None else known[0]
    row = (
        key,
        frame.id,
        partition,
        to_sql(frame.session),
        to_sql(frame.branch),
        frame.parent,
        frame.depth,
        frame.status,
        to_sql(frame.goal),
        maybe_to_sql(frame.result),
        to_json([[one.id, one.title] for one in frame.artifacts]),
        written_provenance(frame.provenance),
        SENSITIVITIES.index(frame.sensitivity),
        frame.version,
        frame.delegated,
        maybe_to_sql(frame.child_session),
        frame.delegation_depth,
        to_json(list(frame.allowed)),
        micros(frame.created_at),
        micros(frame.updated_at),
        maybe_micros(frame.closed_at),
    )
    connection.execute(_INSERT, row)
    put_pointers(connection, key, (one.id for one in frame.artifacts))


def put_branch(connection: Connection, partition: int, branch: TaskBranch) -> None:
    row = (
        partition,
        to_sql(branch.session),
        to_sql(branch.name),
        maybe_to_sql(branch.parent),
        branch.base,
        branch.root,
        branch.current,
        branch.state,
        micros(branch.forked_at),
        maybe_micros(branch.closed_at),
    )
    connection.execute("INSERT OR REPLACE INTO task_branches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def put_head(connection: Connection, partition: int, session: str, branch: str, moves: int | None = None) -> None:
    """Sets the running branch and counts a move; a new session begins with `moves`, where given."""
    sql = (
        "INSERT INTO task_heads VALUES (?, ?, ?, ?) ON CONFLICT (partition, session) DO UPDATE SET branch = excluded.branch,"
        " moves = moves + 1"
    )
    connection.execute(sql, (partition, to_sql(session), to_sql(branch), 1 if moves is None else moves))


def put_checkpoint(connection: Connection, partition: int, checkpoint: TaskCheckpoint) -> None:
    row = (
        partition,
        to_sql(checkpoint.session),
        to_sql(checkpoint.name),
        to_sql(checkpoint.branch),
        checkpoint.frame,
        micros(checkpoint.created_at),
    )
    connection.execute("INSERT OR REPLACE INTO task_checkpoints VALUES (?, ?, ?, ?, ?, ?)", row)


# Pointers: which frames point to which stored things. Forgetting a thing removes the title that a frame gave it.


_POINTING = (
    "SELECT DISTINCT t.key, t.id, t.partition, t.artifacts FROM task_pointers p JOIN tasks t ON t.key = p.task"
    f" WHERE p.thing IN {LISTED}"
)


def put_pointers(connection: Connection, task: int, things: Iterable[str]) -> None:
    """Keeps what a frame, by its key, points to, in place of what it pointed to before."""
    connection.execute("DELETE FROM task_pointers WHERE task = ?", (task,))
    connection.executemany("INSERT INTO task_pointers VALUES (?, ?)", [(to_sql(id), task) for id in dict.fromkeys(things)])


def drop_pointers(transaction: Transaction, ids: Sequence[str]) -> None:
    """Removes what frames, whoever has them, say of things that are gone: their ids, and the titles that somebody gave them."""
    if not ids:
        return
    gone, connection = frozenset(ids), transaction.connection
    for key, id, partition, text in list(rows(connection, _POINTING, (to_json(list(gone)),))):
        left = [pair for pair in json.loads(text) if pair[0] not in gone]
        connection.execute("UPDATE tasks SET artifacts = ?, version = version + 1 WHERE key = ?", (to_json(left), key))
        put_pointers(connection, key, [thing for thing, _ in left])
        withdraw(transaction, (id,))
        transaction.erase(partition)
