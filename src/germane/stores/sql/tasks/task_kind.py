"""Task kind: what the operations on all kinds do to frames, and to the branches and checkpoints of a session's stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from germane.kinds.memories.reads import Forget, Select
from germane.kinds.tasks.value import TaskFrame, stored_task, task_hash
from germane.stores.sql.connection import Connection
from germane.stores.sql.kind import Counted, Found, GateQuestion, KindTable, SqlKind, of_ids
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.statements import LISTED, first, from_sql, only, rows, sensitivity_of, to_json, to_sql
from germane.stores.sql.tasks.task_rows import BRANCH, CHECKPOINT, branch_of, checkpoint_of, frames
from germane.stores.sql.tombstones import bury
from germane.stores.sql.transaction import Transaction

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Thing

_HEADS = "SELECT session, branch, moves FROM task_heads WHERE partition = ? ORDER BY session"


def _dump(connection: Connection, partition: int, owner: Owner) -> Iterator[Thing]:
    """Yields the frames, and then where each session stands with them."""
    from germane.transfer.contents import StoredStack

    own = VisiblePartition(partition, owner.user, 0)
    for key in [key for (key,) in rows(connection, "SELECT key FROM tasks WHERE partition = ? ORDER BY key", (partition,))]:
        yield from frames(connection, own, "t.key = ?", (key,))
    for session, branch, moves in list(rows(connection, _HEADS, (partition,))):
        yield StoredStack(
            session=from_sql(session),
            branch=from_sql(branch),
            moves=moves,
            branches=tuple(map(branch_of, rows(connection, f"{BRANCH} AND session = ? ORDER BY name", (partition, session)))),
            checkpoints=tuple(
                map(checkpoint_of, rows(connection, f"{CHECKPOINT} AND session = ? ORDER BY name", (partition, session)))
            ),
        )


def _size(thing: Thing) -> int:
    return len(thing.result or "") if isinstance(thing, TaskFrame) else 0


def _count(connection: Connection, here: str, at: datetime) -> Counted:
    sql = f"SELECT count(*), total(octet_length(goal)) + total(octet_length(result)) FROM tasks WHERE partition IN {here}"
    tasks, size = only(connection, sql)
    return Counted({"tasks": tasks}, size)


# Forgetting selects and deletes frames with all below them, and what a session's stack says of frames that are gone.


_STACKS = ("task_branches", "task_heads", "task_checkpoints")
"""The tables that hold anything of a session's stack, each with its partition."""
_DELEGATED = f"SELECT DISTINCT child_session FROM tasks WHERE id IN {LISTED} AND child_session IS NOT NULL"
_BELOW = (
    "WITH RECURSIVE down (id) AS ({} UNION SELECT t.id FROM down CROSS JOIN tasks t ON t.parent = down.id AND t.partition = ?1)"
    " SELECT id FROM down ORDER BY id"
)


def _select(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """Returns the ids of the frames that match, with all frames below them: they match ids, a session (their own, or that in
    which another agent worked on them), the owner or `everything`, and no other criterion."""
    if any(one is not None for one in (read.key, read.tag, read.source_kind, read.channel)):
        return ()
    start, values = "SELECT id FROM tasks WHERE partition = ?1", list[object]([partition.id])
    if read.ids is not None:
        values.append(to_json(read.ids))
        start = f"SELECT id FROM tasks WHERE +partition = ?1 AND id IN (SELECT value FROM json_each(?{len(values)}))"
    if read.session is not None:
        values.append(to_sql(read.session))
        start += f" AND (session = ?{len(values)} OR child_session = ?{len(values)})"
    return tuple(id for (id,) in rows(connection, _BELOW.format(start), values))


def _below(connection: Connection, partition: VisiblePartition, found: Found) -> tuple[str, ...]:
    """Returns the ids of all frames below those that were found."""
    ids = tuple(found["task_ids"])
    return _select(connection, partition, Select(ids=ids)) if ids else ()


def _delegated(connection: Connection, ids: Sequence[str]) -> list[str]:
    """Returns the sessions of the agents to whom frames of these were delegated."""
    return [from_sql(session) for (session,) in rows(connection, _DELEGATED, (to_json(list(ids)),))]


def _forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Deletes the frames that `change` names. Branches that stood at one stand at the nearest frame above it that is left; a
    session without frames loses its branches, and their names."""
    connection, gone = transaction.connection, frozenset(change.task_ids)
    for partition in partitions:
        sql = f"SELECT id, session, parent FROM tasks WHERE +partition = ? AND id IN {LISTED}"
        found = list(rows(connection, sql, (partition.id, to_json(sorted(gone)))))
        if not found:
            continue
        above = {id: parent for id, _, parent in found}
        connection.executemany("DELETE FROM tasks WHERE id = ?", [(id,) for id in above])
        _move_up(connection, partition.id, above)
        for session in {row[1] for row in found}:
            if first(connection, "SELECT 1 FROM tasks WHERE partition = ? AND session = ?", (partition.id, session)) is None:
                for table in _STACKS:
                    connection.execute(f"DELETE FROM {table} WHERE partition = ? AND session = ?", (partition.id, session))
        bury(transaction, "tasks", [(0, id, partition.id) for id in above], change)


def _move_up(connection: Connection, partition: int, above: dict[str, str | None]) -> None:
    """Points branches and checkpoints at what is left above the deleted frames, by the frames' parents."""
    for table, column in (*(("task_branches", name) for name in ("base", "root", "current")), ("task_checkpoints", "frame")):
        sql = f"SELECT session, name, {column} FROM {table} WHERE partition = ? AND {column} IS NOT NULL"
        for session, name, frame in list(rows(connection, sql, (partition,))):
            if frame not in above:
                continue
            left: str | None = frame
            while left is not None and left in above:
                left = above[left]
            kept = None if column == "root" else left
            update = f"UPDATE {table} SET {column} = ? WHERE partition = ? AND session = ? AND name = ?"
            connection.execute(update, (kept, partition, session, name))


def _shown(asked: GateQuestion, names: Sequence[str]) -> Mapping[str, int]:
    """Finds frames of the user's own, at the present version or an earlier one: what a text said of a task is how things stood
    then."""
    own = [partition.id for partition in asked.visible if partition.user == asked.user]
    named = {name: known for name in names if (known := stored_task(name)) is not None} if own else {}
    if not named:
        return {}
    ids = to_json(sorted({id for id, _ in named.values()}))
    sql = f"SELECT id, version, sensitivity FROM tasks WHERE id IN {LISTED} AND +partition = ?"
    found = rows(asked.connection, sql, (ids, own[0]))
    versions = {id: version for id, version, level in found if sensitivity_of(level) in asked.filters.sensitivities}
    return {name: task_hash(name) for name, (id, version) in named.items() if 0 < version <= versions.get(id, 0)}


TASK_KIND = SqlKind(
    tables=(
        KindTable("tasks", "task", keeps="owner", cleared=True, exported="tasks", changed="updated_at"),
        KindTable("task_branches", cleared=True),
        KindTable("task_heads", cleared=True, exported="task_stacks"),
        KindTable("task_checkpoints", cleared=True),
    ),
    dump=_dump,
    size=_size,
    count=_count,
    ids="task_ids",
    select=_select,
    made="tasks",
    following=_below,
    sessions=_delegated,
    forget=_forget,
    remains={"tasks": (of_ids("tasks"), of_ids("task_branches", "current"), of_ids("task_pointers", "thing"))},
    shown=_shown,
    orphans={
        "tasks below none": (
            "tasks t WHERE t.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks p WHERE p.id = t.parent AND p.partition ="
            " t.partition)"
        ),
        "branches at no task": (
            "task_branches b WHERE b.current IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = b.current AND"
            " t.partition = b.partition AND t.session = b.session)"
        ),
        "stacks without a branch": (
            "task_heads h WHERE NOT EXISTS (SELECT 1 FROM task_branches b WHERE b.partition = h.partition AND b.session ="
            " h.session AND b.name = h.branch)"
        ),
    },
)
