"""Forget whole: removes a partition with all that is in it.

The partition loses its name too: its row gets random names that no scope has, so that its tombstones still belong to a
partition and other processes notice that it is gone.
"""

from __future__ import annotations

import secrets

import apsw

from germane.memories.operations import ForgetOwner, Select
from germane.stores.sqlite.forget import forget
from germane.stores.sqlite.forget_selection import select
from germane.stores.sqlite.graph_forget import GRAPH_TABLES
from germane.stores.sqlite.history_forgetting import HISTORY_TABLES
from germane.stores.sqlite.rows import first, only, rows
from germane.stores.sqlite.task_forgetting import TASK_TABLES
from germane.stores.sqlite.tombstones import bury
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import FORGOTTEN_ORG, VisiblePartition

__all__ = ["forget_whole"]

_CONTENTS = (
    *(("memories", "partition"), ("sessions", "partition"), ("directives", "partition"), ("blocks", "partition")),
    ("tasks", "partition"),
    *(("archival_entries", "partition"), ("block_shares", "grantee"), ("tombstones", "partition")),
    *((table, "partition") for table in (*GRAPH_TABLES, *HISTORY_TABLES)),
)
"""What a partition can hold, so that its names are needed."""


def forget_whole(transaction: Transaction, partition: VisiblePartition, change: ForgetOwner) -> None:
    """Removes all there is in `partition`, and the partition itself: directive, sessions, speakers, the names of org, agent and
    user. What earlier tombstones say of who and why goes too: it may name somebody. Of `change` itself it stays, unless it
    holds one of the names that are gone with this."""
    transaction.flush()
    connection = transaction.connection
    connection.execute("UPDATE tombstones SET by = '', reason = '' WHERE partition = ?", (partition.id,))
    names = _names_only_here(connection, partition)
    told = not any(name in f"{change.by}\n{change.reason}".casefold() for name in names)
    by, reason = (change.by, change.reason) if told else ("", "")
    sql = "SELECT DISTINCT s.grantee FROM block_shares s JOIN blocks b ON b.key = s.block WHERE b.partition = ?"
    grantees = [grantee for (grantee,) in rows(connection, sql, (partition.id,))]
    found, partitions = select(connection, partition, Select(everything=True))
    gone = found.forgetting(at=change.at, by=by, reason=reason)
    forget(transaction, partitions, gone)
    directive = list(rows(connection, "SELECT 0, id, partition FROM directives WHERE partition = ?", (partition.id,)))
    bury(transaction, "directives", directive, gone)
    for grantee in grantees:
        if not _holds(connection, grantee):
            _unname(connection, grantee)
    connection.execute("DELETE FROM block_shares WHERE grantee = ?", (partition.id,))
    connection.execute("DELETE FROM block_consents WHERE requester = ?", (partition.id,))
    for table in ("directives", "injections", "profile_marks", "sessions", "speakers", *TASK_TABLES):
        connection.execute(f"DELETE FROM {table} WHERE partition = ?", (partition.id,))
    _unname(connection, partition.id)
    transaction.near.drop(partition.id)
    transaction.erase(partition.id, vanished=True)


def _holds(connection: apsw.Connection, partition: int) -> bool:
    """Whether anything is stored in a partition, or shared with it."""
    return any(first(connection, f"SELECT 1 FROM {table} WHERE {column} = ?", (partition,)) for table, column in _CONTENTS)


def _unname(connection: apsw.Connection, partition: int) -> None:
    """Replaces the names of org, agent and user by ones that no scope has."""
    row = (FORGOTTEN_ORG, secrets.token_hex(16), partition)
    connection.execute("UPDATE partitions SET org = ?, agent = ?, user = '' WHERE id = ?", row)


def _names_only_here(connection: apsw.Connection, partition: VisiblePartition) -> list[str]:
    names = only(connection, "SELECT org, agent, user FROM partitions WHERE id = ?", (partition.id,))
    found = list[str]()
    for column, name in zip(("org", "agent", "user"), names, strict=True):
        elsewhere = f"SELECT 1 FROM partitions WHERE {column} = ? AND id <> ?"
        if name and first(connection, elsewhere, (name, partition.id)) is None:
            found.append(name.casefold())
    return found
