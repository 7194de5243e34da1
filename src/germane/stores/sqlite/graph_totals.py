"""Graph totals: makes entities and relations anew from what is still said of them, and removes those of which nothing is.

Whoever removes a message or memory calls `forget_things` in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from germane.graph.aliases import name_key
from germane.graph.said import keys_of, merged, rewritten
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sqlite.encoding import LISTED, moment, stored, to_json
from germane.stores.sqlite.graph_rows import entities_by_key, entity_row, said_of
from germane.stores.sqlite.graph_writing import write_names
from germane.stores.sqlite.injections import withdraw
from germane.stores.sqlite.rows import only, rows
from germane.stores.sqlite.task_pointers import drop_pointers
from germane.stores.sqlite.transaction import Transaction

__all__ = ["drop_rows", "forget_things", "rebuild_entity"]

_REOPEN = (
    "UPDATE relations SET (valid_to, ended_by) = (SELECT o.valid_from, o.id FROM relations o WHERE o.source = relations.source"
    " AND o.type = relations.type AND o.target <> relations.target AND o.valid_from > relations.valid_from"
    " ORDER BY o.valid_from LIMIT 1) WHERE ended_by = ? AND NOT EXISTS (SELECT 1 FROM relations o"
    " WHERE o.source = relations.source AND o.type = relations.type AND o.target = relations.target AND o.valid_to IS NULL)"
)


def forget_things(transaction: Transaction, partition: int, domain: str, keys: Sequence[int]) -> None:
    """Removes what these messages, memories or archival entries (`domain`, row keys) say of entities and relations, and the
    patterns learned from any of them."""
    connection, these = transaction.connection, (domain, to_json(list(keys)))
    where = f"WHERE domain = ? AND thing IN {LISTED}"
    entities, relations, patterns = (
        [key for (key,) in rows(connection, f"SELECT DISTINCT {column} FROM {table} {where}", these)]
        for table, column in (("mentions", "entity"), ("relation_refs", "relation"), ("pattern_refs", "pattern"))
    )
    if not (entities or relations or patterns):
        return
    connection.execute(f"DELETE FROM mentions {where}", these)
    connection.execute(f"DELETE FROM relation_refs {where}", these)
    drop_rows(transaction, partition, "patterns", patterns)
    unsaid = "AND stated IS NULL AND NOT EXISTS (SELECT 1 FROM {} WHERE {} = t.key)"
    for table, found, of in (
        ("relations", relations, ("relation_refs", "relation")),
        ("entities", entities, ("mentions", "entity")),
    ):
        sql = f"SELECT key FROM {table} t WHERE key IN {LISTED} {unsaid.format(*of)}"
        gone = {key for (key,) in rows(connection, sql, (to_json(found),))}
        drop_rows(transaction, partition, table, sorted(gone))
        for key in found:
            if key not in gone:
                (rebuild_entity if table == "entities" else _rebuild_relation)(transaction, partition, key)


def drop_rows(transaction: Transaction, partition: int, table: str, keys: Sequence[int]) -> None:
    """Removes entities with their relations, or relations, or patterns, and what was injected of them. A relation that one of
    these relations ended lasts until the next one begins, or has no end again."""
    if not keys:
        return
    connection, these = transaction.connection, to_json(list(keys))
    ids = [id for (id,) in rows(connection, f"SELECT id FROM {table} WHERE key IN {LISTED}", (these,))]
    if table == "entities":
        sql = f"SELECT key FROM relations WHERE source IN {LISTED} UNION SELECT key FROM relations WHERE target IN {LISTED}"
        drop_rows(transaction, partition, "relations", [key for (key,) in rows(connection, sql, (these, these))])
    connection.execute(f"DELETE FROM {table} WHERE key IN {LISTED}", (these,))  # with what refers to them
    if table == "relations":
        connection.executemany(_REOPEN, [(id,) for id in ids])
    withdraw(transaction, ids)
    drop_pointers(transaction, ids)
    transaction.erase(partition)


def rebuild_entity(transaction: Transaction, partition: int, key: int) -> None:
    """Makes an entity of what is said of it now."""
    connection = transaction.connection
    (entity,) = entities_by_key(connection, {partition: None}, (key,)).values()
    stated = only(connection, "SELECT stated FROM entities WHERE key = ?", (key,))[0]
    told = [said for (said,) in rows(connection, "SELECT said FROM mentions WHERE entity = ? ORDER BY at, thing", (key,))]
    said = merged(map(said_of, [*told, *([] if stated is None else [stated])]))
    new = rewritten(entity, said, _now(transaction))
    sql = (
        "UPDATE entities SET (type, name, name_key, aliases, properties, salience, salient_at, rank, sensitivity, created_at,"
        " updated_at) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), mentions = ? WHERE key = ?"
    )
    connection.execute(sql, (*entity_row(new, name_key(new.name)), len(told), key))
    write_names(connection, partition, key, keys_of(new))
    if new is entity:
        return
    changed = [entity.id]
    if new.name != entity.name:
        sql = "SELECT id FROM relations WHERE source = ?1 UNION SELECT id FROM relations WHERE target = ?1"
        changed += [id for (id,) in rows(connection, sql, (key,))]
    withdraw(transaction, changed)
    transaction.erase(partition)


def _rebuild_relation(transaction: Transaction, partition: int, key: int) -> None:
    connection = transaction.connection
    id, stated, properties = only(connection, "SELECT id, stated, properties FROM relations WHERE key = ?", (key,))
    told = [said for (said,) in rows(connection, "SELECT said FROM relation_refs WHERE relation = ? ORDER BY thing", (key,))]
    said = merged(map(said_of, [*told, *([] if stated is None else [stated])]))
    if (new := to_json(said.properties)) != properties:
        row = (stored(new), SENSITIVITY_CODES[said.sensitivity], key)
        connection.execute("UPDATE relations SET properties = ?, sensitivity = ? WHERE key = ?", row)
        withdraw(transaction, [id])
        transaction.erase(partition)


def _now(transaction: Transaction) -> datetime:
    return moment(transaction.now)
