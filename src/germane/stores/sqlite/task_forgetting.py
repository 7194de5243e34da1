"""Task forgetting: selects and deletes frames with all below them, and what a session's stack says of frames that are gone."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from germane.memories.operations import Forget, Select
from germane.stores.sqlite.encoding import LISTED, micros, stored, to_json
from germane.stores.sqlite.injections import withdraw
from germane.stores.sqlite.rows import first, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition, in_clause

__all__ = ["TASK_TABLES", "drop_pointers", "forget_tasks", "selected_tasks"]

TASK_TABLES = ("tasks", "task_branches", "task_heads", "task_checkpoints")
"""The tables that hold anything of a session's tasks, each with its partition."""
_STACKS = TASK_TABLES[1:]
_BELOW = (
    "WITH RECURSIVE down (id) AS ({} UNION SELECT t.id FROM down CROSS JOIN tasks t ON t.parent = down.id AND t.partition = ?1)"
    " SELECT id FROM down ORDER BY id"
)
_TOMBSTONE = "INSERT OR REPLACE INTO tombstones VALUES (?, 'tasks', 0, ?, ?, ?, ?, ?)"
_POINTING = (
    "SELECT t.key, t.partition, t.artifacts FROM tasks t INDEXED BY tasks_pointing"  # the planner would read all tasks
    " WHERE t.artifacts <> '[]' AND t.partition IN {} AND EXISTS (SELECT 1 FROM json_each(t.artifacts) a"
    f" WHERE json_extract(a.value, '$[0]') IN {LISTED})"
)


def selected_tasks(connection: apsw.Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """Returns the ids of the frames that match, with all frames below them: they match ids, a session, the owner or
    `everything`, and no other criterion."""
    if any(one is not None for one in (read.key, read.tag, read.source_kind, read.channel)):
        return ()
    start, values = "SELECT id FROM tasks WHERE partition = ?1", list[object]([partition.id])
    if read.ids is not None:
        values.append(to_json(read.ids))
        start = f"SELECT id FROM tasks WHERE +partition = ?1 AND id IN (SELECT value FROM json_each(?{len(values)}))"
    if read.session is not None:
        values.append(stored(read.session))
        start += f" AND session = ?{len(values)}"
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
        withdraw(transaction, list(above))
        said = (micros(change.at), stored(change.by), stored(change.reason))
        connection.executemany(_TOMBSTONE, [(id, partition.id, transaction.revision, *said) for id in above])
        transaction.erase(partition.id)


def drop_pointers(transaction: Transaction, partitions: tuple[VisiblePartition, ...], ids: Sequence[str]) -> None:
    """Removes what frames say of forgotten things: their ids, and the titles that somebody gave them."""
    if not ids or not partitions:
        return
    gone, connection = frozenset(ids), transaction.connection
    for key, partition, text in list(rows(connection, _POINTING.format(in_clause(partitions)), (to_json(sorted(gone)),))):
        left = [pair for pair in json.loads(text) if pair[0] not in gone]
        connection.execute("UPDATE tasks SET artifacts = ?, version = version + 1 WHERE key = ?", (to_json(left), key))
        withdraw(transaction, [id for (id,) in rows(connection, "SELECT id FROM tasks WHERE key = ?", (key,))])
        transaction.erase(partition)


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
