"""Task forgetting: selects and deletes frames with all below them, and what a session's stack says of frames that are gone."""

from __future__ import annotations

import apsw

from germane.memories.operations import Forget, Select
from germane.stores.sqlite.encoding import LISTED, stored, to_json
from germane.stores.sqlite.rows import first, rows
from germane.stores.sqlite.tombstones import bury
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["TASK_TABLES", "forget_tasks", "selected_tasks"]

TASK_TABLES = ("tasks", "task_branches", "task_heads", "task_checkpoints")
"""The tables that hold anything of a session's tasks, each with its partition."""
_STACKS = TASK_TABLES[1:]
_BELOW = (
    "WITH RECURSIVE down (id) AS ({} UNION SELECT t.id FROM down CROSS JOIN tasks t ON t.parent = down.id AND t.partition = ?1)"
    " SELECT id FROM down ORDER BY id"
)


def selected_tasks(connection: apsw.Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """Returns the ids of the frames that match, with all frames below them: they match ids, a session (their own, or that in
    which another agent worked on them), the owner or `everything`, and no other criterion."""
    if any(one is not None for one in (read.key, read.tag, read.source_kind, read.channel)):
        return ()
    start, values = "SELECT id FROM tasks WHERE partition = ?1", list[object]([partition.id])
    if read.ids is not None:
        values.append(to_json(read.ids))
        start = f"SELECT id FROM tasks WHERE +partition = ?1 AND id IN (SELECT value FROM json_each(?{len(values)}))"
    if read.session is not None:
        values.append(stored(read.session))
        start += f" AND (session = ?{len(values)} OR child_session = ?{len(values)})"
    return tuple(id for (id,) in rows(connection, _BELOW.format(start), values))


def forget_tasks(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
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


def _move_up(connection: apsw.Connection, partition: int, above: dict[str, str | None]) -> None:
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
