"""Totals: makes entities and relations anew from what is still said of them, merges two, and removes the unmentioned.

Every change that removes a message or a memory calls `forget_things` in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from germane.errors import InvalidInput
from germane.kinds.graph.reads import MergeEntities
from germane.kinds.graph.statement import keys_of, merge_statements, rewritten
from germane.kinds.graph.value import Entity
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.lookup import ENTITIES, entities_by_key, said_of, written_said
from germane.stores.sql.graph.writing import own_key, write_names
from germane.stores.sql.injections import withdraw
from germane.stores.sql.statements import LISTED, Row, micros, moment, only, rows, to_json, to_sql
from germane.stores.sql.tasks.task_rows import drop_pointers
from germane.stores.sql.transaction import Transaction

_REBUILD = ENTITIES.update("key")
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


def unsay(transaction: Transaction, domain: str, found: Sequence[Row]) -> None:
    """Does the same for rows of key, id and partition."""
    for partition in sorted({row[2] for row in found}):
        forget_things(transaction, partition, domain, [row[0] for row in found if row[2] == partition])


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
    said = merge_statements(map(said_of, [*told, *([] if stated is None else [stated])]))
    new = rewritten(entity, said, _now(transaction))
    connection.execute(_REBUILD, ENTITIES.cells(new, key, partition, mentions=len(told), stated=stated))
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
    said = merge_statements(map(said_of, [*told, *([] if stated is None else [stated])]))
    if (new := to_json(said.properties)) != properties:
        row = (to_sql(new), SENSITIVITY_CODES[said.sensitivity], key)
        connection.execute("UPDATE relations SET properties = ?, sensitivity = ? WHERE key = ?", row)
        withdraw(transaction, [id])
        transaction.erase(partition)


def _now(transaction: Transaction) -> datetime:
    return moment(transaction.now)


# Merging makes one entity of two: names, mentions, relations, and what was said of either.


def merge_entities(transaction: Transaction, partition: int, change: MergeEntities) -> None:
    """Raises `NotFound` where one of them isn't the partition's own, and `InvalidInput` where both are one."""
    connection = transaction.connection
    kept, gone = (own_key(connection, partition, "entities", id) for id in (change.kept, change.gone))
    if kept == gone:
        raise InvalidInput("an entity can't be merged with itself: name two")
    both = entities_by_key(connection, {partition: None}, (kept, gone))
    _move_mentions(connection, kept, gone)
    _move_relations(connection, kept, gone)
    _join_stated(connection, kept, gone)
    connection.execute(
        "UPDATE entities SET salience = ?, salient_at = ? WHERE key = ?", (*_salience(both[kept], both[gone]), kept)
    )
    keys = dict.fromkeys((*keys_of(both[kept]), *keys_of(both[gone])))
    drop_rows(transaction, partition, "entities", [gone])
    write_names(connection, partition, kept, keys)
    rebuild_entity(transaction, partition, kept)
    transaction.touch((partition,))


def _salience(kept: Entity, gone: Entity) -> tuple[float, int]:
    at = max(kept.salient_at, gone.salient_at)
    return max(kept.salience_at(at), gone.salience_at(at)), micros(at)


def _move_mentions(connection: Connection, kept: int, gone: int) -> None:
    sql = (
        "SELECT g.domain, g.thing, g.said, k.said FROM mentions g JOIN mentions k"
        " ON k.domain = g.domain AND k.thing = g.thing AND k.entity = ? WHERE g.entity = ?"
    )
    for domain, thing, one, other in list(rows(connection, sql, (kept, gone))):
        said = written_said(merge_statements((said_of(other), said_of(one))))
        connection.execute(
            "UPDATE mentions SET said = ? WHERE domain = ? AND thing = ? AND entity = ?", (said, domain, thing, kept)
        )
    connection.execute("UPDATE OR IGNORE mentions SET entity = ? WHERE entity = ?", (kept, gone))


def _move_relations(connection: Connection, kept: int, gone: int) -> None:
    """Relations between the two go. Of two that say the same until the same time, the refs of one go to the other."""
    connection.execute(
        "DELETE FROM relations WHERE (source = ?1 AND target = ?2) OR (source = ?2 AND target = ?1)", (kept, gone)
    )
    open_twins = (
        "SELECT k.key, g.key FROM relations g JOIN relations k ON k.type = g.type AND k.valid_to IS NULL"
        " AND k.source = CASE g.source WHEN ?2 THEN ?1 ELSE g.source END"
        " AND k.target = CASE g.target WHEN ?2 THEN ?1 ELSE g.target END"
        " WHERE (g.source = ?2 OR g.target = ?2) AND g.valid_to IS NULL AND k.key <> g.key"
    )
    for one, other in list(rows(connection, open_twins, (kept, gone))):
        _join_relations(connection, one, other)
    connection.execute("UPDATE relations SET source = ?1 WHERE source = ?2", (kept, gone))
    connection.execute("UPDATE relations SET target = ?1 WHERE target = ?2", (kept, gone))


def _join_relations(connection: Connection, kept: int, gone: int) -> None:
    connection.execute("UPDATE OR IGNORE relation_refs SET relation = ? WHERE relation = ?", (kept, gone))
    connection.execute(
        "UPDATE relations SET weight = max(relations.weight, o.weight), confidence = max(relations.confidence, o.confidence),"
        " strength = max(relations.weight, o.weight) * max(relations.confidence, o.confidence),"
        " valid_from = min(relations.valid_from, o.valid_from), stated = coalesce(relations.stated, o.stated)"
        " FROM relations o WHERE relations.key = ? AND o.key = ?",
        (kept, gone),
    )
    connection.execute("DELETE FROM relations WHERE key = ?", (gone,))


def _join_stated(connection: Connection, kept: int, gone: int) -> None:
    stated = [only(connection, "SELECT stated FROM entities WHERE key = ?", (key,))[0] for key in (kept, gone)]
    told = [said_of(one) for one in stated if one is not None]
    if told:
        connection.execute("UPDATE entities SET stated = ? WHERE key = ?", (to_sql(written_said(merge_statements(told))), kept))
