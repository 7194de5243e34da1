"""Directives: reads and writes the standing instructions of agents and of their users."""

from __future__ import annotations

import apsw

from germane.stores.sqlite.encoding import shown, stored
from germane.stores.sqlite.rows import first, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import in_clause, visible_partitions
from germane.types.scope import Scope

__all__ = ["directive", "directive_now", "set_directive"]

_NOW = (
    "SELECT d.text FROM partitions p JOIN directives d ON d.partition = p.id"
    " WHERE p.org = ? AND p.agent = ? AND p.user IN ('', ?) ORDER BY p.user DESC LIMIT 1"
)


def set_directive(transaction: Transaction, partition: int, text: str) -> None:
    """Replaces the partition's directive, or removes it where `text` is empty; the old text is erased."""
    connection = transaction.connection
    had = first(connection, "SELECT 1 FROM directives WHERE partition = ?", (partition,))
    connection.execute("DELETE FROM directives WHERE partition = ?", (partition,))
    if text:
        connection.execute("INSERT INTO directives VALUES (?, ?, ?)", (partition, stored(text), transaction.revision))
    if had is None:
        transaction.touch((partition,))
    else:
        transaction.erase(partition, replaced=True)


def directive_now(connection: apsw.Connection, org: str, agent: str, user: str | None) -> str:
    """Returns what `directive` returns, by the names in the scope; cheap enough for thousands of calls."""
    found = first(connection, _NOW, (org, agent, user or ""))
    return "" if found is None else shown(found[0])


def directive(connection: apsw.Connection, scope: Scope) -> str:
    """Returns the directive of the scope's user, else the agent's, else ''."""
    visible = visible_partitions(connection, scope)
    sql = f"SELECT partition, text FROM directives WHERE partition IN {in_clause(visible)}"
    found: dict[int, str | bytes] = dict(rows(connection, sql))
    return next((shown(found[partition.id]) for partition in reversed(visible) if partition.id in found), "")
