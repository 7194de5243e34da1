"""Task rows: frames, branches and checkpoints as rows, read and written within one partition."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from germane.kinds.tasks.value import DelegatedSession, StackHead, TaskArtifact, TaskBranch, TaskCheckpoint, TaskFrame
from germane.stores.sql.columns import PROVENANCE, SENSITIVITY, TEXT, TIME, TUPLE, Codec, Column, Given, Joined, RowKey, Table
from germane.stores.sql.connection import Connection
from germane.stores.sql.injections import withdraw
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.statements import LISTED, Row, first, from_sql, only, rows, to_json, to_sql
from germane.stores.sql.transaction import Transaction
from germane.types.scope import Scope

_MAX_CHILDREN = 1_000
_CHILDREN = (
    "(SELECT json_group_array(id) FROM (SELECT c.id FROM tasks c WHERE c.partition = t.partition AND c.parent = t.id"
    f" ORDER BY c.key LIMIT {_MAX_CHILDREN}))"
)
TASKS = Table(
    "tasks",
    TaskFrame,
    (
        RowKey(),
        Column("id"),
        Given("partition", fixed=True),
        Column("session", TEXT, fixed=True),
        Column("branch", TEXT, fixed=True),
        Column("parent", fixed=True),
        Column("depth", fixed=True),
        Column("status"),
        Column("goal", TEXT),
        Column("result", TEXT, null=True),
        Column(
            "artifacts",
            Codec(
                lambda artifacts: to_json([[one.id, one.title] for one in artifacts]),
                lambda text: tuple(TaskArtifact(id=id, title=title) for id, title in json.loads(text)),
            ),
        ),
        Column("provenance", PROVENANCE),
        Column("sensitivity", SENSITIVITY, fixed=True),
        Column("version"),
        Column("delegated", fixed=True),
        Column("child_session", TEXT, null=True, fixed=True),
        Column("delegation_depth", fixed=True),
        Column("allowed", TUPLE, fixed=True),
        Column("created_at", TIME, fixed=True),
        Column("updated_at", TIME),
        Column("closed_at", TIME, null=True),
        Joined("children", _CHILDREN, TUPLE),
    ),
    passed=("user",),
    unstored=("secrets",),
)
_PUT = f"{TASKS.upsert('id')} WHERE partition = excluded.partition"
BRANCHES = Table(
    "task_branches",
    TaskBranch,
    (
        Given("partition"),
        Column("session", TEXT),
        Column("name", TEXT),
        Column("parent", TEXT, null=True),
        Column("base"),
        Column("root"),
        Column("current"),
        Column("state"),
        Column("forked_at", TIME),
        Column("closed_at", TIME, null=True),
    ),
)
branch_of: Callable[[Row], TaskBranch] = BRANCHES.value
"""Returns the branch in a row of `BRANCH`."""
BRANCH = f"SELECT {BRANCHES.selected()} FROM task_branches WHERE partition = ?"
"""The rows that `branch_of` takes."""
_PUT_BRANCH = BRANCHES.insert("INSERT OR REPLACE")
CHECKPOINTS = Table(
    "task_checkpoints",
    TaskCheckpoint,
    (
        Given("partition"),
        Column("session", TEXT),
        Column("name", TEXT),
        Column("branch", TEXT),
        Column("frame"),
        Column("created_at", TIME),
    ),
)
checkpoint_of: Callable[[Row], TaskCheckpoint] = CHECKPOINTS.value
"""Returns the checkpoint in a row of `CHECKPOINT`."""
CHECKPOINT = f"SELECT {CHECKPOINTS.selected()} FROM task_checkpoints WHERE partition = ?"
"""The rows that `checkpoint_of` takes."""
_PUT_CHECKPOINT = CHECKPOINTS.insert("INSERT OR REPLACE")
_HEAD = (
    "SELECT h.branch, h.moves,"
    " (SELECT count(*) FROM tasks WHERE partition = ?1 AND session = ?2 AND status IN ('active', 'blocked')),"
    " (SELECT count(*) FROM tasks WHERE partition = ?1 AND session = ?2),"
    " (SELECT count(*) FROM task_branches WHERE partition = ?1 AND session = ?2),"
    " (SELECT count(*) FROM task_checkpoints WHERE partition = ?1 AND session = ?2)"
    " FROM task_heads h WHERE h.partition = ?1 AND h.session = ?2"
)


def frames(
    connection: Connection, partition: VisiblePartition, clause: str, values: Sequence[Any] = (), *, children: bool = True
) -> tuple[TaskFrame, ...]:
    """Returns the frames of a partition that match an SQL condition on `t`, which may end with an order and a limit; without
    the ids of their children where nobody needs these."""
    columns = TASKS.selected("t") if children else TASKS.selected("t", children="'[]'")
    found = rows(connection, f"SELECT {columns} FROM tasks t WHERE t.partition = ? AND {clause}", (partition.id, *values))
    return tuple(TASKS.value(row, partition.user) for row in found)


def frames_by_id(connection: Connection, partition: VisiblePartition, ids: Sequence[str]) -> dict[str, TaskFrame]:
    """Returns the frames of a partition with these ids, by id."""
    indexed = "tasks t INDEXED BY tasks_id"  # SQLite would read the whole partition
    sql = f"SELECT {TASKS.selected('t')} FROM {indexed} WHERE t.partition = ? AND t.id IN {LISTED}"
    found = [TASKS.value(row, partition.user) for row in rows(connection, sql, (partition.id, to_json(list(ids))))]
    return {frame.id: frame for frame in found}


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


def put_frame(connection: Connection, partition: int, frame: TaskFrame) -> None:
    """Inserts a frame, or updates the one of this partition with its id; one of another partition stays as it is."""
    known = first(connection, "SELECT key FROM tasks WHERE id = ?", (frame.id,))
    if known is None:
        connection.execute("UPDATE counters SET tasks = tasks + 1")
    key = only(connection, "SELECT tasks FROM counters")[0] if known is None else known[0]
    connection.execute(_PUT, TASKS.cells(frame, key, partition))
    put_pointers(connection, key, (one.id for one in frame.artifacts))


def put_branch(connection: Connection, partition: int, branch: TaskBranch) -> None:
    connection.execute(_PUT_BRANCH, BRANCHES.cells(branch, partition))


def put_head(connection: Connection, partition: int, session: str, branch: str, moves: int | None = None) -> None:
    """Sets the running branch and counts a move; a new session begins with `moves`, where given."""
    sql = (
        "INSERT INTO task_heads VALUES (?, ?, ?, ?) ON CONFLICT (partition, session) DO UPDATE SET branch = excluded.branch,"
        " moves = moves + 1"
    )
    connection.execute(sql, (partition, to_sql(session), to_sql(branch), 1 if moves is None else moves))


def put_checkpoint(connection: Connection, partition: int, checkpoint: TaskCheckpoint) -> None:
    connection.execute(_PUT_CHECKPOINT, CHECKPOINTS.cells(checkpoint, partition))


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


# What the agent that works in a session was given, so that neither depth nor sensitivity can be evaded.


_DELEGATION = (
    "SELECT t.delegation_depth, t.allowed, t.status IN ('active', 'blocked') FROM tasks t"
    " JOIN partitions p ON p.id = t.partition"
    " WHERE t.child_session = ? AND p.org = ? AND p.agent = ? AND (? OR p.user = ?) ORDER BY t.key DESC LIMIT 1"
)


def delegated_session(connection: Connection, scope: Scope) -> DelegatedSession | None:
    """Returns what the agent in the scope's session was given; None where nobody delegated into it. The frame is its parent's:
    the user's own, or for a scope without a user, which may be narrower than its parent's, any user's of the same agent."""
    if scope.session is None:
        return None
    named = (to_sql(scope.session), scope.org, scope.agent, scope.user is None, to_sql(scope.user or ""))
    row = first(connection, _DELEGATION, named)
    return None if row is None else DelegatedSession(depth=row[0], allowed=tuple(json.loads(row[1])), open=bool(row[2]))
