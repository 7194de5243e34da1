"""Graph rows: converts entities, relations and patterns to rows and back, and the conditions that bind reads of them."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import log2
from typing import Any

from germane.kinds.graph.aliases import name_key
from germane.kinds.graph.statement import EntityStatement
from germane.kinds.graph.traversal import Edge
from germane.kinds.graph.value import SALIENCE_HALF_LIFE, Entity, Pattern, Relation
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sql.columns import (
    DICT,
    SENSITIVITY,
    TEXT,
    TIME,
    TUPLE,
    Codec,
    Column,
    Derived,
    Given,
    Joined,
    RowKey,
    RowOwner,
    Table,
)
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, owners, visible_ids
from germane.stores.sql.statements import (
    LISTED,
    Row,
    micros,
    rows,
    sensitivity_of,
    to_json,
    to_sql,
)
from germane.types.query import Filters

_HALF_LIFE = SALIENCE_HALF_LIFE * 86_400 * 1_000_000
_MIN_SALIENCE = 1e-9


def rank(entity: Entity) -> float:
    """Returns a number that orders entities as their salience does at any time after their last mention."""
    return log2(max(entity.salience, _MIN_SALIENCE)) + micros(entity.salient_at) / _HALF_LIFE


def stored_name_key(entity: Entity) -> str | bytes:
    """Returns the cell of the key that lists are sorted by."""
    return to_sql(name_key(entity.name))


ENTITIES = Table(
    "entities",
    Entity,
    (
        RowKey(),
        RowOwner(),
        Column("id", fixed=True),
        Column("type", TEXT),
        Column("name", TEXT),
        Derived("name_key", stored_name_key),
        Column("aliases", TUPLE),
        Column("properties", DICT),
        Column("salience"),
        Column("salient_at", TIME),
        Derived("rank", rank),
        Given("mentions", field="mentions"),
        Given("stated"),
        Column("sensitivity", SENSITIVITY),
        Column("created_at", TIME),
        Column("updated_at", TIME),
    ),
)
entity_of: Callable[[Row, Mapping[int, str | None]], Entity] = ENTITIES.value
"""Returns the entity in a row that begins as one of `ENTITY`; `users` maps partition ids to users."""
ENTITY = f"SELECT {ENTITIES.selected('n')}, n.name_key FROM entities n"
"""The rows that `entity_of` takes, with the key of the name."""
_ID = ENTITIES.place("id")
_REFS = (
    "(SELECT json_group_array(id) FROM (SELECT coalesce(e.id, m.id, a.id) AS id FROM relation_refs x"
    " LEFT JOIN events e ON x.domain = 'events' AND e.key = x.thing"
    " LEFT JOIN memories m ON x.domain = 'memories' AND m.key = x.thing"
    " LEFT JOIN archival_entries a ON x.domain = 'blocks' AND a.key = x.thing"
    " WHERE x.relation = r.key ORDER BY x.thing DESC LIMIT 100))"
)
RELATIONS = Table(
    "relations",
    Relation,
    (
        RowKey(),
        RowOwner(),
        Column("id", fixed=True),
        Given("source", fixed=True),
        Column("type", TEXT, fixed=True),
        Given("target", fixed=True),
        Joined("source_id", "s.id", field="source"),
        Joined("target_id", "t.id", field="target"),
        Column("weight"),
        Column("confidence"),
        Derived("strength", lambda relation: relation.weight * relation.confidence),
        Column("properties", DICT),
        Column("valid_from", TIME),
        Column("valid_to", TIME, null=True),
        Given("ended_by"),
        Given("stated"),
        Column("sensitivity", SENSITIVITY),
        Column("created_at", TIME),
        Column("updated_at", TIME),
        Joined("refs", _REFS, Codec(read=lambda text: () if text == "[]" else tuple(reversed(json.loads(text))))),
    ),
)
relation_of: Callable[[Row, Mapping[int, str | None]], Relation] = RELATIONS.value
"""Returns the relation in a row of `RELATION`; `users` maps partition ids to users."""
RELATION = (
    f"SELECT {RELATIONS.selected('r')} FROM relations r JOIN entities s ON s.key = r.source JOIN entities t ON t.key = r.target"
)
"""The rows that `relation_of` takes."""
PATTERNS = Table(
    "patterns",
    Pattern,
    (
        RowKey(),
        RowOwner(),
        Column("id", fixed=True),
        Column("action", TEXT),
        Column("keywords", TUPLE),
        Column("intent", TEXT, null=True),
        Column("entity_types", TUPLE),
        Column("successes"),
        Column("applications"),
        Column("sensitivity", SENSITIVITY),
        Column("created_at", TIME),
        Column("updated_at", TIME),
    ),
)
pattern_of: Callable[[Row, Mapping[int, str | None]], Pattern] = PATTERNS.value
"""Returns the pattern in a row of `PATTERN`; `users` maps partition ids to users."""
PATTERN = f"SELECT {PATTERNS.selected('p')} FROM patterns p"
"""The rows that `pattern_of` takes."""


def written_said(said: EntityStatement) -> str:
    """Returns what was said of something as JSON, without what is usual."""
    return to_json([said.names, said.properties, SENSITIVITY_CODES[said.sensitivity]])


def said_of(text: str) -> EntityStatement:
    """The inverse of `written_said`."""
    names, properties, code = json.loads(text)
    return EntityStatement(names=tuple(names), properties=properties, sensitivity=sensitivity_of(code))


def sensitivity_codes(filters: Filters) -> str:
    """Returns the allowed sensitivities for an SQL `IN`. They are integers of ours, never a caller's text."""
    codes = sorted({SENSITIVITY_CODES[level] for level in filters.sensitivities if level in SENSITIVITY_CODES})
    return f"({','.join(map(str, codes))})"


def entity_clause(visible: tuple[VisiblePartition, ...], filters: Filters, name: str = "n") -> tuple[str, list[Any]]:
    """Returns the condition for the entities `name` that the scope sees and the filters pass, and the values bound to it."""
    clause = f"{name}.partition IN {IN_VISIBLE} AND {name}.sensitivity IN {sensitivity_codes(filters)}"
    values: list[Any] = [*visible_ids(visible)]
    if filters.entity_types is not None:
        clause += f" AND {name}.type IN {LISTED}"
        values.append(to_json(filters.entity_types))
    if filters.exclude:
        clause += f" AND {name}.id NOT IN {LISTED}"
        values.append(to_json(sorted(filters.exclude)))
    return clause, values


def entities_by_key(connection: Connection, users: Mapping[int, str | None], keys: Iterable[int]) -> dict[int, Entity]:
    """Returns entities by their row keys, in the order of the keys."""
    wanted = list(keys)
    found = {row[0]: entity_of(row, users) for row in rows(connection, f"{ENTITY} WHERE n.key IN {LISTED}", (to_json(wanted),))}
    return {key: found[key] for key in wanted if key in found}


def relations_by_key(connection: Connection, users: Mapping[int, str | None], keys: Sequence[int]) -> dict[int, Relation]:
    """Returns relations by their row keys, in the order of the keys."""
    found = {
        row[0]: relation_of(row, users) for row in rows(connection, f"{RELATION} WHERE r.key IN {LISTED}", (to_json(keys),))
    }
    return {key: found[key] for key in keys if key in found}


# Look-up: finds entities by their names and by their salience, and the edges that walks follow. Each look-up takes time
# that doesn't grow with the graph. The order in which SQLite visits the tables is fixed in the statements: left to
# itself it may visit all entities of a partition.


_ALL_TYPES = (
    "(WITH RECURSIVE known (value) AS (SELECT min(type) FROM entities INDEXED BY entities_rank WHERE partition = ?"
    " UNION ALL SELECT (SELECT min(type) FROM entities INDEXED BY entities_rank WHERE partition = ? AND type > known.value)"
    " FROM known WHERE known.value IS NOT NULL) SELECT value FROM known WHERE value IS NOT NULL)"
)
"""The types that a partition has: one step in the index for each."""
_SHARED = 500
"""Entities of one name or short form that are looked at: the first ones. A short form that more share says nothing."""


def entities_named(
    connection: Connection, visible: tuple[VisiblePartition, ...], keys: Sequence[str], filters: Filters, limit: int
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
            found.setdefault(row[_ID], entity_of(row, owners(visible)))
        if len(found) >= limit:
            break
    return tuple(found.values())[:limit]


def _used(connection: Connection, visible: tuple[VisiblePartition, ...], keys: Iterable[str]) -> tuple[str | bytes, ...]:
    """Returns those of the keys that an entity has, as they are stored: of the many that a query may mean, few."""
    wanted = tuple(dict.fromkeys(to_sql(key) for key in keys))
    texts = [key for key in wanted if isinstance(key, str)]
    sql = (
        "SELECT w.value FROM json_each(?) w WHERE EXISTS"
        f" (SELECT 1 FROM entity_names k WHERE k.partition IN {IN_VISIBLE} AND k.key = w.value)"
    )
    there = {key for (key,) in rows(connection, sql, (to_json(texts), *visible_ids(visible)))}
    return tuple(key for key in wanted if isinstance(key, bytes) or key in there)


def salient_entities(
    connection: Connection, visible: tuple[VisiblePartition, ...], limit: int, at: datetime, filters: Filters
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


# Walks over the graph ask for their edges with one query for each level, or for a part of a large one.


_ENDS = (("source", "target"), ("target", "source"))
_PART = 32
"""Entities whose relations are read with one statement where a walk may not need those of all."""
Answer = Callable[[Sequence[int]], Mapping[int, Sequence[Edge]]]


class _InParts(Mapping[int, Sequence[Edge]]):
    """The relations of many entities, read for some of them at a time when they are asked for, in the order of the entities: a
    walk that has reached its limit doesn't ask for the rest."""

    def __init__(self, entities: Sequence[int], read: Answer) -> None:
        self._parts = {
            entity: entities[start : start + _PART]
            for start in range(0, len(entities), _PART)
            for entity in entities[start : start + _PART]
        }
        self._read, self._found = read, dict[int, Sequence[Edge]]()

    def __getitem__(self, entity: int) -> Sequence[Edge]:
        if entity not in self._found:
            part = self._parts[entity]
            answered = self._read(part)
            self._found |= {one: answered.get(one, ()) for one in part}
        return self._found[entity]

    def __iter__(self) -> Iterator[int]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def holding(at: datetime | None) -> tuple[str, list[Any]]:
    """Returns the condition for relations `r` that hold at a time, and the values bound to it; None accepts all."""
    if at is None:
        return "", []
    return " AND r.valid_from <= ? AND (r.valid_to IS NULL OR r.valid_to > ?)", [micros(at)] * 2


def heaviest_edges(
    connection: Connection,
    visible: tuple[VisiblePartition, ...],
    *,
    at: datetime | None,
    filters: Filters,
    limit: int,
) -> Answer:
    """Returns what answers with the `limit` heaviest relations of each entity, in both directions, the heaviest first. Of an
    entity with many relations no more are read than that."""
    seen, also = entity_clause(visible, filters, "o")
    holds, times = holding(at)
    halves, bound = list[str](), list[Any]()
    for here, there in _ENDS:
        halves.append(
            f"SELECT f.value, x.key, x.source, x.target, x.strength, x.id FROM json_each(?1) f CROSS JOIN relations x"
            f" ON x.key IN (SELECT r.key FROM relations r INDEXED BY relations_{here}"
            f" CROSS JOIN entities o ON o.key = r.{there}"
            f" WHERE r.{here} = f.value"
            f" AND r.partition IN {IN_VISIBLE} AND r.sensitivity IN {sensitivity_codes(filters)} AND {seen}{holds}"
            f" ORDER BY r.strength DESC, r.id LIMIT {int(limit)})"
        )
        bound += [*visible_ids(visible), *also, *times]
    sql = " UNION ".join(halves)

    def heaviest(entities: Sequence[int]) -> Mapping[int, Sequence[Edge]]:
        found = dict[int, list[tuple[float, str, Edge]]]()
        for entity, key, source, target, strength, id in rows(connection, sql, [to_json(list(entities)), *bound]):
            found.setdefault(entity, []).append((-strength, id, Edge(key, source, target, strength)))
        return {entity: [edge for _, _, edge in sorted(edges)[:limit]] for entity, edges in found.items()}

    return lambda entities: heaviest(entities) if len(entities) <= _PART else _InParts(entities, heaviest)


def all_edges(
    connection: Connection, visible: tuple[VisiblePartition, ...], *, at: datetime | None, filters: Filters, limit: int
) -> Answer:
    """Returns what answers with all relations of each entity, at most `limit` of one level."""
    seen, also = entity_clause(visible, filters, "o")
    holds, times = holding(at)
    halves = [
        f"SELECT r.{here}, r.key, r.source, r.target, r.strength FROM relations r JOIN entities o ON o.key = r.{there}"
        f" WHERE r.{here} IN {LISTED} AND +r.partition IN {IN_VISIBLE}"
        f" AND r.sensitivity IN {sensitivity_codes(filters)} AND {seen}{holds}"
        for here, there in _ENDS
    ]
    sql = f"{' UNION ALL '.join(halves)} LIMIT {int(limit)}"
    return lambda entities: _grouped(connection, sql, [to_json(list(entities)), *visible_ids(visible), *also, *times] * 2)


def directed_edges(
    connection: Connection,
    visible: tuple[VisiblePartition, ...],
    types: Sequence[str],
    *,
    backwards: bool,
    at: datetime | None,
    filters: Filters,
    limit: int,
) -> Answer:
    """Returns what answers with the relations of these types that begin (`backwards`: end) at each entity, by time."""
    here, there = _ENDS[backwards]
    seen, also = entity_clause(visible, filters, "o")
    holds, times = holding(at)
    sql = (
        f"SELECT r.{here}, r.key, r.source, r.target, r.strength FROM relations r JOIN entities o ON o.key = r.{there}"
        f" WHERE r.{here} IN {LISTED} AND r.type IN {LISTED} AND +r.partition IN {IN_VISIBLE}"
        f" AND r.sensitivity IN {sensitivity_codes(filters)} AND {seen}{holds} ORDER BY r.valid_from, r.id LIMIT {int(limit)}"
    )
    return lambda entities: _grouped(
        connection, sql, [to_json(list(entities)), to_json(list(types)), *visible_ids(visible), *also, *times]
    )


def _grouped(connection: Connection, sql: str, bound: Sequence[Any]) -> dict[int, list[Edge]]:
    found = dict[int, list[Edge]]()
    for entity, key, source, target, strength in rows(connection, sql, bound):
        found.setdefault(entity, []).append(Edge(key, source, target, strength))
    return found
