"""Graph forget: selects and removes entities, relations and patterns, and those that nothing mentions any more."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from germane.stores.sqlite.encoding import LISTED, to_json
from germane.stores.sqlite.graph_totals import drop_rows
from germane.stores.sqlite.rows import Row, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition, in_clause

__all__ = ["GRAPH_TABLES", "found_in_graph", "graph_of", "remove_from_graph", "unsaid_without"]

GRAPH_TABLES = ("entities", "relations", "patterns")
_DOMAINS = {"events": "events", "memories": "memories", "blocks": "archival_entries"}


def graph_of(connection: apsw.Connection, partition: VisiblePartition, ids: Sequence[str] | None) -> list[str]:
    """Returns the ids of the partition's entities, relations and patterns: of these, or of all."""
    among, bound = ("", ()) if ids is None else (f" AND id IN {LISTED}", (to_json(list(ids)),))
    found = list[str]()
    for table in GRAPH_TABLES:
        sql = (
            f"SELECT id FROM {table} WHERE +partition = ?{among} ORDER BY key"
            if ids is not None
            else (f"SELECT id FROM {table} WHERE partition = ? ORDER BY key")
        )
        found += [id for (id,) in rows(connection, sql, (partition.id, *bound))]
    return found


def unsaid_without(connection: apsw.Connection, partition: VisiblePartition, things: Sequence[str]) -> list[str]:
    """Returns the ids of the entities, relations and patterns that go with these messages, memories and archival entries:
    nothing else mentions or states them, and nobody stored them on purpose."""
    keys = dict[str, str]()
    for domain, table in _DOMAINS.items():
        sql = f"SELECT key FROM {table} WHERE id IN {LISTED} AND +partition = ?"
        keys[domain] = to_json([key for (key,) in rows(connection, sql, (to_json(list(things)), partition.id))])
    found = list[str]()
    for table, refs, column in (("entities", "mentions", "entity"), ("relations", "relation_refs", "relation")):
        touched = " UNION ".join(f"SELECT {column} FROM {refs} WHERE domain = '{d}' AND thing IN {LISTED}" for d in keys)
        rest = " AND ".join(f"(x.domain <> '{d}' OR x.thing NOT IN {LISTED})" for d in keys)
        sql = (
            f"SELECT id FROM {table} t WHERE key IN ({touched}) AND stated IS NULL"
            f" AND NOT EXISTS (SELECT 1 FROM {refs} x WHERE x.{column} = t.key AND {rest}) ORDER BY key"
        )
        found += [id for (id,) in rows(connection, sql, (*keys.values(), *keys.values()))]
    learned = " UNION ".join(f"SELECT pattern FROM pattern_refs WHERE domain = '{d}' AND thing IN {LISTED}" for d in keys)
    found += [
        id for (id,) in rows(connection, f"SELECT id FROM patterns WHERE key IN ({learned}) ORDER BY key", [*keys.values()])
    ]
    return found


def found_in_graph(
    connection: apsw.Connection, partitions: tuple[VisiblePartition, ...], ids: Sequence[str]
) -> dict[str, list[Row]]:
    """Returns key, id and partition of those of `ids` that lie in these partitions, by table."""
    sql = f"SELECT key, id, partition FROM {{}} WHERE id IN {LISTED} AND +partition IN {in_clause(partitions)}"
    return {table: list(rows(connection, sql.format(table), (to_json(list(ids)),))) for table in GRAPH_TABLES}


def remove_from_graph(transaction: Transaction, found: dict[str, list[Row]]) -> None:
    """Removes what `found_in_graph` found."""
    for table, these in found.items():
        for partition in sorted({row[2] for row in these}):
            drop_rows(transaction, partition, table, [row[0] for row in these if row[2] == partition])
