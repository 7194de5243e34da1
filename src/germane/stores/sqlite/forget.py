"""Forget: deletes what is named, with its search rows, vectors and what refers to it; leaves tombstones without content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

from germane.memories.operations import Forget
from germane.stores.sqlite.blocks import touch_block
from germane.stores.sqlite.forget_following import followed
from germane.stores.sqlite.graph_forget import found_in_graph, remove_from_graph
from germane.stores.sqlite.graph_totals import forget_things
from germane.stores.sqlite.history_forgetting import forget_history
from germane.stores.sqlite.injections import forget_sessions
from germane.stores.sqlite.links import delete_links
from germane.stores.sqlite.outlines import mend_outlines
from germane.stores.sqlite.profile_work import forget_marks
from germane.stores.sqlite.replacements import delete_replacements
from germane.stores.sqlite.rows import Row, first
from germane.stores.sqlite.sessions import shrink
from germane.stores.sqlite.task_forgetting import forget_tasks
from germane.stores.sqlite.tombstones import bury
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition, in_clause
from germane.stores.sqlite.waiting import let_through

__all__ = ["forget"]

_SPEAKER_LESS = "UPDATE speakers SET events = events - 1 WHERE partition = ? AND name = ?"
_SPEAKER_GONE = "DELETE FROM speakers WHERE partition = ? AND name = ? AND events <= 0"


def forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Deletes what `change` names and what lies in `partitions`, with all that was made of it. Idempotent."""
    transaction.flush()
    if not change.replaced:
        change, partitions = followed(transaction.connection, partitions, change)
    found = found_in_graph(transaction.connection, partitions, change.graph_ids)
    remove_from_graph(transaction, found)
    forget_history(transaction, partitions, change)
    _forget_memories(transaction, partitions, change)
    _forget_events(transaction, partitions, change)
    _forget_blocks(transaction, partitions, change)
    for table, these in found.items():
        bury(transaction, table, these, change)
    forget_tasks(transaction, partitions, change)
    for session in change.sessions:
        forget_sessions(transaction, partitions, session)


def _forget_memories(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    sql = "SELECT key, id, partition FROM memories WHERE id = ? AND partition IN " + in_clause(partitions)
    found = _found(transaction.connection, sql, change.memory_ids)
    if not change.replaced:
        let_through(transaction, found, frozenset(change.memory_ids))
    keys = [(row[0],) for row in found]
    transaction.connection.executemany("DELETE FROM memory_tags WHERE memory = ?", keys)
    _unsay(transaction, "memories", found)
    transaction.connection.executemany("DELETE FROM memories WHERE key = ?", keys)
    delete_links(transaction.connection, [row[0] for row in found])
    forget_marks(transaction, [row[1] for row in found])
    for partition in {row[2] for row in found}:
        transaction.near.drop(partition, [row[0] for row in found])
    bury(transaction, "memories", found, change)


def _forget_events(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    connection = transaction.connection
    sql = "SELECT key, id, partition, session, name, position FROM events WHERE id = ? AND partition IN " + in_clause(
        partitions
    )
    found = _found(connection, sql, change.event_ids)
    _unsay(transaction, "events", found)
    connection.executemany("DELETE FROM events WHERE key = ?", [(row[0],) for row in found])  # with their telling clauses
    forget_marks(transaction, [row[1] for row in found])
    delete_replacements(connection, [(row[0], row[1]) for row in found])
    said = [(row[2], row[4]) for row in found if row[4]]
    connection.executemany(_SPEAKER_LESS, said)
    connection.executemany(_SPEAKER_GONE, list(dict.fromkeys(said)))
    shrink(connection, {row[3] for row in found})
    forgotten: dict[int, list[int]] = {}
    for row in found:
        forgotten.setdefault(row[3], []).append(row[5])
    mend_outlines(connection, forgotten)
    bury(transaction, "events", found, change)


def _forget_blocks(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    connection = transaction.connection
    for table in ("blocks", "archival_entries"):
        sql = f"SELECT key, id, partition FROM {table} WHERE id = ? AND partition IN " + in_clause(partitions)
        found = _found(connection, sql, change.block_ids)
        for key, _, partition in found if table == "blocks" else ():
            touch_block(transaction, partition, key)
        if table == "archival_entries":
            _unsay(transaction, "blocks", found)
        connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(row[0],) for row in found])  # with what refers to it
        bury(transaction, "blocks", found, change)


def _unsay(transaction: Transaction, domain: str, found: Sequence[Row]) -> None:
    for partition in sorted({row[2] for row in found}):
        forget_things(transaction, partition, domain, [row[0] for row in found if row[2] == partition])


def _found(connection: apsw.Connection, sql: str, ids: Iterable[str]) -> list[Row]:
    found = (first(connection, sql, (id,)) for id in dict.fromkeys(ids))
    return [row for row in found if row is not None]
