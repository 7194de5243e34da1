"""Writing: the changes of plans about entities, what mentions them, relations, and patterns."""

from __future__ import annotations

from collections.abc import Iterable

from germane.errors import Conflict, NotFound
from germane.kinds.graph.reads import (
    CountPattern,
    EndRelation,
    MatchingPatterns,
    PutEntity,
    PutMentions,
    PutPattern,
    PutRelation,
)
from germane.kinds.graph.statement import EntityStatement, merge_statements
from germane.kinds.graph.value import Pattern
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.lookup import (
    ENTITIES,
    PATTERN,
    PATTERNS,
    RELATIONS,
    pattern_of,
    said_of,
    sensitivity_codes,
    stored_name_key,
    written_said,
)
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, owners, visible_ids
from germane.stores.sql.statements import LISTED, first, micros, only, rows, to_json, to_sql
from germane.stores.sql.transaction import Transaction

_INSERT = ENTITIES.insert()
_UPDATE = ENTITIES.update("key", keep=("mentions",))
_UPDATE_USED = ENTITIES.update("key", keep=("mentions", "type", "name", "name_key"))
"""Of an entity whose type and name stay: the index of the names isn't written."""
_MENTION = "INSERT OR IGNORE INTO mentions SELECT ?, ?, key, ?, ? FROM entities WHERE id = ? AND partition = ?"
_COUNT = "UPDATE entities SET mentions = mentions + 1 WHERE id = ? AND partition = ?"
_INSERT_RELATION = RELATIONS.insert()
_UPDATE_RELATION = RELATIONS.update("key")
_INSERT_PATTERN = PATTERNS.insert()
_UPDATE_PATTERN = PATTERNS.update("key")
_THINGS = {"events": "events", "memories": "memories", "blocks": "archival_entries"}


def put_entity(transaction: Transaction, partition: int, change: PutEntity) -> None:
    """Raises `NotFound` where another partition has an entity with this id."""
    entity, connection = change.entity, transaction.connection
    sql = "SELECT key, partition, stated, type, name, name_key FROM entities WHERE id = ?"
    held = first(connection, sql, (entity.id,))
    if held is None:
        stated = None if change.stated is None else written_said(change.stated)
        connection.execute(_INSERT, ENTITIES.cells(entity, None, partition, mentions=0, stated=stated))
        key = connection.last_insert_rowid()
    else:
        key = held[0]
        if held[1] != partition:
            raise NotFound("no entity {} of this scope's own", entity.id)
        named_as_before = held[3:] == (to_sql(entity.type), to_sql(entity.name), stored_name_key(entity))
        cells = ENTITIES.cells(entity, key, partition, mentions=None, stated=_stated(held[2], change.stated))
        connection.execute(_UPDATE_USED if named_as_before else _UPDATE, cells)
    write_names(connection, partition, key, change.keys)
    transaction.touch((partition,))


def write_names(connection: Connection, partition: int, entity: int, keys: Iterable[str]) -> None:
    """Makes `keys` the keys that an entity is found by."""
    wanted = {to_sql(key) for key in keys if key}
    held = {key for (key,) in rows(connection, "SELECT key FROM entity_names WHERE entity = ?", (entity,))}
    for key in held - wanted:
        connection.execute("DELETE FROM entity_names WHERE partition = ? AND key = ? AND entity = ?", (partition, key, entity))
    connection.executemany("INSERT INTO entity_names VALUES (?, ?, ?)", [(partition, key, entity) for key in wanted - held])


def put_mentions(transaction: Transaction, partition: int, change: PutMentions) -> None:
    """Raises `NotFound` where the thing or an entity isn't the partition's own."""
    if not change.entities:
        return
    connection = transaction.connection
    domain, thing, at = thing_of(transaction, partition, change.thing)
    for id in dict.fromkeys(change.entities):
        said, whose = change.said.get(id, EntityStatement()), (to_sql(id), partition)
        connection.execute(_MENTION, (domain, thing, at, written_said(said), *whose))
        if connection.changes():
            connection.execute(_COUNT, whose)
            continue
        where = (domain, thing, own_key(connection, partition, "entities", id))
        (held,) = only(connection, "SELECT said FROM mentions WHERE domain = ? AND thing = ? AND entity = ?", where)
        both = written_said(merge_statements((said_of(held), said)))
        connection.execute("UPDATE mentions SET said = ? WHERE domain = ? AND thing = ? AND entity = ?", (both, *where))
    transaction.touch((partition,))


def put_relation(transaction: Transaction, partition: int, change: PutRelation) -> None:
    """Raises `NotFound` where an entity or a ref isn't the partition's own, and `Conflict` where another relation of these
    entities and this type has no end."""
    relation, connection = change.relation, transaction.connection
    held = first(connection, "SELECT key, partition, stated, ended_by FROM relations WHERE id = ?", (relation.id,))
    if held is not None and held[1] != partition:
        raise NotFound("no relation {} of this scope's own", relation.id)
    source, target = (own_key(connection, partition, "entities", id) for id in (relation.source, relation.target))
    if relation.valid_to is None:
        sql = "SELECT id FROM relations WHERE source = ? AND type = ? AND target = ? AND valid_to IS NULL AND id <> ?"
        if (other := first(connection, sql, (source, to_sql(relation.type), target, relation.id))) is not None:
            raise Conflict(f"relation {other[0]} says the same and has no end")
    key, _, stated, ended_by = (None, None, None, None) if held is None else held
    cells = RELATIONS.cells(
        relation,
        key,
        partition,
        source=source,
        target=target,
        ended_by=ended_by if change.ended_by is None else change.ended_by,
        stated=_stated(stated, change.stated),
    )
    connection.execute(_INSERT_RELATION if key is None else _UPDATE_RELATION, cells)
    key = connection.last_insert_rowid() if key is None else key
    put_refs(transaction, partition, "relation", key, relation.refs, written_said(change.said))
    transaction.touch((partition,))


def put_refs(transaction: Transaction, partition: int, what: str, key: int, refs: Iterable[str], *said: str) -> None:
    """Notes which things a relation or a pattern (`what`) comes from."""
    for ref in dict.fromkeys(refs):
        domain, thing, _ = thing_of(transaction, partition, ref)
        marks = ", ".join("?" * (3 + len(said)))
        transaction.connection.execute(f"INSERT OR IGNORE INTO {what}_refs VALUES ({marks})", (domain, thing, key, *said))


def end_relation(transaction: Transaction, partition: int, change: EndRelation) -> None:
    """Raises `NotFound` where there is no such relation without an end."""
    connection = transaction.connection
    sql = "UPDATE relations SET valid_to = max(?1, valid_from), ended_by = ?2, updated_at = max(updated_at, ?1)"
    sql += " WHERE id = ?3 AND partition = ?4 AND valid_to IS NULL"
    connection.execute(sql, (micros(change.at), change.ended_by, change.id, partition))
    if not connection.changes():
        raise NotFound("no relation {} of this scope's own that has no end", change.id)
    transaction.touch((partition,))


def own_key(connection: Connection, partition: int, table: str, id: str) -> int:
    """Returns the row key of the partition's own entity, relation or pattern. Raises `NotFound`."""
    found = first(connection, f"SELECT key FROM {table} WHERE id = ? AND partition = ?", (to_sql(id), partition))
    if found is None:
        raise NotFound(f"{table} of this scope's own don't include {{}}", id)
    return int(found[0])


def thing_of(transaction: Transaction, partition: int, id: str) -> tuple[str, int, int]:
    """Returns domain, row key and time of the partition's own event, memory or archival entry. Raises `NotFound`."""
    transaction.write_events()
    for domain, table in _THINGS.items():
        sql = f"SELECT key, created_at FROM {table} WHERE id = ? AND partition = ?"
        found = first(transaction.connection, sql, (to_sql(id), partition))
        if found is not None:
            return domain, found[0], found[1]
    raise NotFound("no message or memory {} of this scope's own", id)


def _stated(held: str | None, new: EntityStatement | None) -> str | None:
    if new is None:
        return held
    return written_said(new if held is None else merge_statements((said_of(held), new)))


# Patterns: written, counted, and found by what they apply to.


def put_pattern(transaction: Transaction, partition: int, change: PutPattern) -> None:
    """Raises `NotFound` where another partition has a pattern with this id, or where a ref isn't the partition's own."""
    pattern, connection = change.pattern, transaction.connection
    held = first(connection, "SELECT key, partition FROM patterns WHERE id = ?", (pattern.id,))
    if held is None:
        connection.execute(_INSERT_PATTERN, PATTERNS.cells(pattern, None, partition))
        key = connection.last_insert_rowid()
    else:
        key = held[0]
        if held[1] != partition:
            raise NotFound("no pattern {} of this scope's own", pattern.id)
        connection.execute(_UPDATE_PATTERN, PATTERNS.cells(pattern, key, partition))
        connection.execute("DELETE FROM pattern_words WHERE pattern = ?", (key,))
    words = [(partition, to_sql(word), key) for word in dict.fromkeys(pattern.keywords or ("",))]
    connection.executemany("INSERT INTO pattern_words VALUES (?, ?, ?)", words)
    put_refs(transaction, partition, "pattern", key, change.refs)
    transaction.touch((partition,))


def count_pattern(transaction: Transaction, partition: int, change: CountPattern) -> None:
    """Raises `NotFound` where the partition has no such pattern."""
    sql = "UPDATE patterns SET applications = applications + 1, successes = successes + ?, updated_at = max(updated_at, ?)"
    sql += " WHERE id = ? AND partition = ?"
    row = (int(change.succeeded), micros(change.at), to_sql(change.id), partition)
    transaction.connection.execute(sql, row)
    if not transaction.connection.changes():
        raise NotFound("no pattern {} of this scope's own", change.id)
    transaction.touch((partition,))


def matching_patterns(
    connection: Connection, visible: tuple[VisiblePartition, ...], read: MatchingPatterns
) -> tuple[Pattern, ...]:
    """Answers `MatchingPatterns`."""
    filters = read.filters
    sql = (
        f"{PATTERN} WHERE p.key IN (SELECT pattern FROM pattern_words WHERE partition IN {IN_VISIBLE}"
        f" AND word IN {LISTED})"
        f" AND p.sensitivity IN {sensitivity_codes(filters)} AND (p.intent IS NULL OR p.intent = ?)"
        f" AND (p.entity_types = '[]' OR EXISTS (SELECT 1 FROM json_each(p.entity_types) WHERE value IN {LISTED}))"
        f" AND p.id NOT IN {LISTED}"
        " ORDER BY (p.successes + 1.0) / (p.applications + 2) DESC, p.id LIMIT ?"
    )
    excluded = to_json(sorted(filters.exclude))
    asked = (*visible_ids(visible), to_json(["", *read.words]), read.intent, to_json(read.entity_types), excluded, read.limit)
    return tuple(pattern_of(row, owners(visible)) for row in rows(connection, sql, asked))
