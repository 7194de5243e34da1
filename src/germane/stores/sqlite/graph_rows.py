"""Graph rows: converts entities, relations and patterns to rows and back, and the conditions that bind reads of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import log2
from typing import Any

import apsw

from germane.graph.entity import SALIENCE_HALF_LIFE, Entity
from germane.graph.pattern import Pattern
from germane.graph.relation import Relation
from germane.graph.said import Said
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sqlite.encoding import LISTED, maybe_moment, micros, moment, sensitivity_of, shown, stored, to_json
from germane.stores.sqlite.rows import Row, rows
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids
from germane.types.query import Filters

__all__ = [
    "ENTITY",
    "PATTERN",
    "RELATION",
    "entities_by_key",
    "entity_clause",
    "entity_of",
    "entity_row",
    "pattern_of",
    "rank",
    "relation_of",
    "relations_by_key",
    "said_of",
    "sensitivity_codes",
    "written_said",
]

ENTITY = (
    "SELECT n.key, n.partition, n.id, n.type, n.name, n.aliases, n.properties, n.salience, n.salient_at, n.mentions,"
    " n.sensitivity, n.created_at, n.updated_at, n.name_key FROM entities n"
)
"""The rows that `entity_of` takes."""
_REFS = (
    "(SELECT json_group_array(id) FROM (SELECT coalesce(e.id, m.id, a.id) AS id FROM relation_refs x"
    " LEFT JOIN events e ON x.domain = 'events' AND e.key = x.thing"
    " LEFT JOIN memories m ON x.domain = 'memories' AND m.key = x.thing"
    " LEFT JOIN archival_entries a ON x.domain = 'blocks' AND a.key = x.thing"
    " WHERE x.relation = r.key ORDER BY x.thing DESC LIMIT 100))"
)
RELATION = (
    "SELECT r.key, r.partition, r.id, s.id, r.type, t.id, r.weight, r.confidence, r.properties, r.valid_from, r.valid_to,"
    f" r.sensitivity, r.created_at, r.updated_at, {_REFS}"
    " FROM relations r JOIN entities s ON s.key = r.source JOIN entities t ON t.key = r.target"
)
"""The rows that `relation_of` takes."""
PATTERN = (
    "SELECT p.key, p.partition, p.id, p.action, p.keywords, p.intent, p.entity_types, p.successes, p.applications,"
    " p.sensitivity, p.created_at, p.updated_at FROM patterns p"
)
"""The rows that `pattern_of` takes."""
_HALF_LIFE = SALIENCE_HALF_LIFE * 86_400 * 1_000_000
_LEAST = 1e-9


def entity_of(row: Row, users: Mapping[int, str | None]) -> Entity:
    return Entity(
        id=row[2],
        type=shown(row[3]),
        name=shown(row[4]),
        user=users[row[1]],
        aliases=() if row[5] == "[]" else tuple(json.loads(row[5])),
        properties={} if row[6] == "{}" else json.loads(row[6]),
        salience=row[7],
        salient_at=moment(row[8]),
        mentions=row[9],
        sensitivity=sensitivity_of(row[10]),
        created_at=moment(row[11]),
        updated_at=moment(row[12]),
    )


def entity_row(entity: Entity, key: str) -> tuple[Any, ...]:
    """Returns what changes of an entity's row; `key` is that of its name."""
    return (
        stored(entity.type),
        stored(entity.name),
        stored(key),
        to_json(entity.aliases),
        to_json(entity.properties),
        entity.salience,
        micros(entity.salient_at),
        rank(entity),
        SENSITIVITY_CODES[entity.sensitivity],
        micros(entity.created_at),
        micros(entity.updated_at),
    )


def rank(entity: Entity) -> float:
    """Returns a number that orders entities as their salience does at any time after their last mention."""
    return log2(max(entity.salience, _LEAST)) + micros(entity.salient_at) / _HALF_LIFE


def relation_of(row: Row, users: Mapping[int, str | None]) -> Relation:
    return Relation(
        id=row[2],
        source=row[3],
        type=shown(row[4]),
        target=row[5],
        user=users[row[1]],
        weight=row[6],
        confidence=row[7],
        properties={} if row[8] == "{}" else json.loads(row[8]),
        valid_from=moment(row[9]),
        valid_to=maybe_moment(row[10]),
        sensitivity=sensitivity_of(row[11]),
        created_at=moment(row[12]),
        updated_at=moment(row[13]),
        refs=() if row[14] == "[]" else tuple(reversed(json.loads(row[14]))),
    )


def pattern_of(row: Row, users: Mapping[int, str | None]) -> Pattern:
    return Pattern(
        id=row[2],
        action=shown(row[3]),
        keywords=tuple(json.loads(row[4])),
        intent=None if row[5] is None else shown(row[5]),
        entity_types=tuple(json.loads(row[6])),
        user=users[row[1]],
        successes=row[7],
        applications=row[8],
        sensitivity=sensitivity_of(row[9]),
        created_at=moment(row[10]),
        updated_at=moment(row[11]),
    )


def written_said(said: Said) -> str:
    """Returns what was said of something as JSON, without what is usual."""
    return to_json([said.names, said.properties, SENSITIVITY_CODES[said.sensitivity]])


def said_of(text: str) -> Said:
    """The inverse of `written_said`."""
    names, properties, code = json.loads(text)
    return Said(names=tuple(names), properties=properties, sensitivity=sensitivity_of(code))


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


def entities_by_key(connection: apsw.Connection, users: Mapping[int, str | None], keys: Iterable[int]) -> dict[int, Entity]:
    """Returns entities by their row keys, in the order of the keys."""
    wanted = list(keys)
    found = {row[0]: entity_of(row, users) for row in rows(connection, f"{ENTITY} WHERE n.key IN {LISTED}", (to_json(wanted),))}
    return {key: found[key] for key in wanted if key in found}


def relations_by_key(connection: apsw.Connection, users: Mapping[int, str | None], keys: Sequence[int]) -> dict[int, Relation]:
    """Returns relations by their row keys, in the order of the keys."""
    found = {
        row[0]: relation_of(row, users) for row in rows(connection, f"{RELATION} WHERE r.key IN {LISTED}", (to_json(keys),))
    }
    return {key: found[key] for key in keys if key in found}
