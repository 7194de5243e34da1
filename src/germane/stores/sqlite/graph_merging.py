"""Graph merging: makes one entity of two: names, mentions, relations, and what was said of either."""

from __future__ import annotations

import apsw

from germane.errors import InvalidInput
from germane.graph.entity import Entity
from germane.graph.operations import MergeEntities
from germane.graph.said import keys_of, merged
from germane.stores.sqlite.encoding import micros, stored
from germane.stores.sqlite.graph_rows import entities_by_key, said_of, written_said
from germane.stores.sqlite.graph_totals import drop_rows, rebuild_entity
from germane.stores.sqlite.graph_writing import own_key, write_names
from germane.stores.sqlite.rows import only, rows
from germane.stores.sqlite.transaction import Transaction

__all__ = ["merge_entities"]


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


def _move_mentions(connection: apsw.Connection, kept: int, gone: int) -> None:
    sql = (
        "SELECT g.domain, g.thing, g.said, k.said FROM mentions g JOIN mentions k"
        " ON k.domain = g.domain AND k.thing = g.thing AND k.entity = ? WHERE g.entity = ?"
    )
    for domain, thing, one, other in list(rows(connection, sql, (kept, gone))):
        said = written_said(merged((said_of(other), said_of(one))))
        connection.execute(
            "UPDATE mentions SET said = ? WHERE domain = ? AND thing = ? AND entity = ?", (said, domain, thing, kept)
        )
    connection.execute("UPDATE OR IGNORE mentions SET entity = ? WHERE entity = ?", (kept, gone))


def _move_relations(connection: apsw.Connection, kept: int, gone: int) -> None:
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


def _join_relations(connection: apsw.Connection, kept: int, gone: int) -> None:
    connection.execute("UPDATE OR IGNORE relation_refs SET relation = ? WHERE relation = ?", (kept, gone))
    connection.execute(
        "UPDATE relations SET weight = max(relations.weight, o.weight), confidence = max(relations.confidence, o.confidence),"
        " strength = max(relations.weight, o.weight) * max(relations.confidence, o.confidence),"
        " valid_from = min(relations.valid_from, o.valid_from), stated = coalesce(relations.stated, o.stated)"
        " FROM relations o WHERE relations.key = ? AND o.key = ?",
        (kept, gone),
    )
    connection.execute("DELETE FROM relations WHERE key = ?", (gone,))


def _join_stated(connection: apsw.Connection, kept: int, gone: int) -> None:
    stated = [only(connection, "SELECT stated FROM entities WHERE key = ?", (key,))[0] for key in (kept, gone)]
    told = [said_of(one) for one in stated if one is not None]
    if told:
        connection.execute("UPDATE entities SET stated = ? WHERE key = ?", (stored(written_said(merged(told))), kept))
