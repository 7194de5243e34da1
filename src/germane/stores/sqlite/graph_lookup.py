"""Graph look-up: finds entities by their names and by their salience, each in time that doesn't grow with the graph.

The order in which SQLite visits the tables is fixed in the statements: left to itself it may visit all entities of a partition.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from datetime import datetime

import apsw

from germane.graph.entity import Entity
from germane.stores.sqlite.encoding import LISTED, micros, stored, to_json
from germane.stores.sqlite.graph_rows import ENTITY, entity_clause, entity_of
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, owners, visible_ids
from germane.types.query import Filters

__all__ = ["entities_named", "salient_entities"]

_ALL_TYPES = (
    "(WITH RECURSIVE known (value) AS (SELECT min(type) FROM entities INDEXED BY entities_rank WHERE partition = ?"
    " UNION ALL SELECT (SELECT min(type) FROM entities INDEXED BY entities_rank WHERE partition = ? AND type > known.value)"
    " FROM known WHERE known.value IS NOT NULL) SELECT value FROM known WHERE value IS NOT NULL)"
)
"""The types that a partition has: one step in the index for each."""
_SHARED = 500
"""Entities of one name or short form that are looked at: the first ones. A short form that more share says nothing."""


def entities_named(
    connection: apsw.Connection, visible: tuple[VisiblePartition, ...], keys: Sequence[str], filters: Filters, limit: int
) -> tuple[Entity, ...]:
    """Returns the entities that are found by these name keys, in the order of the keys, at most `limit`. Of a key that more
    than 500 entities share, the first 500 are looked at, whatever the filters."""
    clause, values = entity_clause(visible, filters)
    shared = f"(SELECT entity FROM entity_names WHERE partition IN {IN_VISIBLE} AND key = ? ORDER BY entity LIMIT {_SHARED})"
    sql = (
        f"{ENTITY.replace('FROM entities n', f'FROM {shared} k CROSS JOIN entities n ON n.key = k.entity')}"
        f" WHERE {clause} ORDER BY k.entity LIMIT ?"
    )
    found = dict[str, Entity]()
    for key in _used(connection, visible, keys):
        for row in rows(connection, sql, (*visible_ids(visible), key, *values, limit)):
            found.setdefault(row[2], entity_of(row, owners(visible)))
        if len(found) >= limit:
            break
    return tuple(found.values())[:limit]


def _used(connection: apsw.Connection, visible: tuple[VisiblePartition, ...], keys: Iterable[str]) -> tuple[str | bytes, ...]:
    """Returns those of the keys that an entity has, as they are stored: of the many that a query may mean, few."""
    wanted = tuple(dict.fromkeys(stored(key) for key in keys))
    texts = [key for key in wanted if isinstance(key, str)]
    sql = (
        "SELECT w.value FROM json_each(?) w WHERE EXISTS"
        f" (SELECT 1 FROM entity_names k WHERE k.partition IN {IN_VISIBLE} AND k.key = w.value)"
    )
    there = {key for (key,) in rows(connection, sql, (to_json(texts), *visible_ids(visible)))}
    return tuple(key for key in wanted if isinstance(key, bytes) or key in there)


def salient_entities(
    connection: apsw.Connection, visible: tuple[VisiblePartition, ...], limit: int, at: datetime, filters: Filters
) -> tuple[Entity, ...]:
    """Returns the entities of the largest salience at a time, the most salient first. Of each type and partition no more are
    read than `limit`, besides those that the filters leave out and those that were mentioned after that time."""
    clause, values = entity_clause(visible, filters, "x")
    later, bound = entity_clause(visible, filters)
    found = list[Entity]()
    for partition in visible:  # each by its own index
        types = _ALL_TYPES if filters.entity_types is None else LISTED
        chosen = [partition.id] * 2 if filters.entity_types is None else [to_json(sorted(set(filters.entity_types)))]
        past = (
            f"{ENTITY.replace('FROM entities n', f'FROM {types} t CROSS JOIN entities n')} ON n.key IN"
            " (SELECT x.key FROM entities x INDEXED BY entities_rank"
            f" WHERE x.partition = ? AND x.type = t.value AND x.salient_at <= ? AND {clause}"
            " ORDER BY x.rank DESC, x.id LIMIT ?)"
        )
        found += [
            entity_of(row, owners(visible))
            for row in rows(connection, past, (*chosen, partition.id, micros(at), *values, limit))
        ]
        future = (
            f"{ENTITY} INDEXED BY entities_salient WHERE n.partition = ? AND n.salient_at > ? AND {later}"
            " ORDER BY n.salience DESC, n.id LIMIT ?"
        )
        found += [
            entity_of(row, owners(visible)) for row in rows(connection, future, (partition.id, micros(at), *bound, limit))
        ]
    return tuple(heapq.nsmallest(limit, found, key=lambda entity: (-entity.salience_at(at), entity.id)))
