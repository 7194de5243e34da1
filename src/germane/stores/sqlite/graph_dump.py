"""Graph dump: reads all entities, relations and patterns of a partition for an export, each with who said what of it."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from germane.stores.sqlite.graph_rows import ENTITY, PATTERN, RELATION, entity_of, pattern_of, relation_of, said_of
from germane.stores.sqlite.rows import only, rows
from germane.transfer.stored_graph import Sources, StoredEntity, StoredPattern, StoredRelation

__all__ = ["graph_things"]

_ID = (
    "CASE x.domain WHEN 'events' THEN (SELECT id FROM events WHERE key = x.thing)"
    " WHEN 'memories' THEN (SELECT id FROM memories WHERE key = x.thing)"
    " ELSE (SELECT id FROM archival_entries WHERE key = x.thing) END"
)


def graph_things(
    connection: apsw.Connection, partition: int, user: str | None
) -> Iterator[StoredEntity | StoredRelation | StoredPattern]:
    """Yields them in the order in which they were stored."""
    users = {partition: user}
    for key in _keys(connection, "entities", partition):
        row = only(connection, f"{ENTITY} WHERE n.key = ?", (key,))
        stated = only(connection, "SELECT stated FROM entities WHERE key = ?", (key,))[0]
        said = _sources(connection, "mentions", "entity", key)
        yield StoredEntity(entity=entity_of(row, users), stated=None if stated is None else said_of(stated), mentions=said)
    for key in _keys(connection, "relations", partition):
        row = only(connection, f"{RELATION} WHERE r.key = ?", (key,))
        stated, ended_by = only(connection, "SELECT stated, ended_by FROM relations WHERE key = ?", (key,))
        yield StoredRelation(
            relation=relation_of(row, users),
            stated=None if stated is None else said_of(stated),
            refs=_sources(connection, "relation_refs", "relation", key),
            ended_by=ended_by,
        )
    for key in _keys(connection, "patterns", partition):
        row = only(connection, f"{PATTERN} WHERE p.key = ?", (key,))
        sql = f"SELECT {_ID} FROM pattern_refs x WHERE x.pattern = ? ORDER BY x.domain, x.thing"
        refs = tuple(id for (id,) in rows(connection, sql, (key,)))
        yield StoredPattern(pattern=pattern_of(row, users), refs=refs)


def _keys(connection: apsw.Connection, table: str, partition: int) -> list[int]:
    return sorted(key for (key,) in rows(connection, f"SELECT key FROM {table} WHERE partition = ?", (partition,)))


def _sources(connection: apsw.Connection, table: str, column: str, key: int) -> Sources:
    sql = f"SELECT {_ID}, x.said FROM {table} x WHERE x.{column} = ? ORDER BY x.domain, x.thing"
    return tuple((id, said_of(said)) for id, said in rows(connection, sql, (key,)))
