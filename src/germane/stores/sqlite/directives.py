"""Directives: reads and writes the standing instructions of agents and of their users."""

from __future__ import annotations

import secrets

import apsw

from germane.memories.directive import Directive
from germane.memories.operations import OwnDirective
from germane.stores.sqlite.encoding import shown, stored
from germane.stores.sqlite.rows import first, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids
from germane.types.scope import Scope

__all__ = ["directive", "directive_now", "directives", "own_directive", "set_directive"]

_NOW = "SELECT d.text FROM partitions p JOIN directives d ON d.partition = p.id WHERE p.org = ? AND p.agent = ? AND p.user = ?"
_ALL = (
    "SELECT p.org, p.agent, p.user, d.text FROM directives d JOIN partitions p ON p.id = d.partition"
    " ORDER BY p.user <> '', d.revision DESC LIMIT ?"
)


def set_directive(transaction: Transaction, partition: int, text: str, id: str = "") -> None:
    """Replaces the partition's directive, or removes it where `text` is empty; the old text is erased. A directive that
    replaces another one keeps its id, unless it comes with one from an export."""
    connection = transaction.connection
    had = first(connection, "SELECT id FROM directives WHERE partition = ?", (partition,))
    connection.execute("DELETE FROM directives WHERE partition = ?", (partition,))
    if text:
        named = id or (secrets.token_hex(16) if had is None else had[0])
        connection.execute("INSERT INTO directives VALUES (?, ?, ?, ?)", (partition, stored(text), transaction.revision, named))
    if had is None:
        transaction.touch((partition,), replaced=True)
    else:
        transaction.erase(partition, replaced=True)


def own_directive(transaction: Transaction, partition: VisiblePartition, _: OwnDirective) -> str:
    found = first(transaction.connection, "SELECT text FROM directives WHERE partition = ?", (partition.id,))
    return "" if found is None else shown(found[0])


def directive_now(connection: apsw.Connection, org: str, agent: str, user: str | None) -> str:
    """Returns the directive of exactly this partition, '' for none; cheap enough for thousands of calls."""
    found = first(connection, _NOW, (org, agent, user or ""))
    return "" if found is None else shown(found[0])


def directives(connection: apsw.Connection, limit: int) -> list[tuple[str, str, str | None, str]]:
    """Returns at most `limit` directives with their org, agent and user: the agents' first, then those set last."""
    return [(org, agent, user or None, shown(text)) for org, agent, user, text in rows(connection, _ALL, (limit,))]


def directive(connection: apsw.Connection, visible: tuple[VisiblePartition, ...], scope: Scope) -> Directive:
    """Returns the agent's directive and that of the scope's user."""
    sql = f"SELECT partition, text FROM directives WHERE partition IN {IN_VISIBLE}"
    found: dict[int, str | bytes] = dict(rows(connection, sql, visible_ids(visible)))
    texts = {partition.user: shown(found[partition.id]) for partition in visible if partition.id in found}
    return Directive(texts.get(None, ""), "" if scope.user is None else texts.get(scope.user, ""))
