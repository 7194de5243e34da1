"""Graph writing: the changes of plans about entities, what mentions them, and relations."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from germane.errors import Conflict, NotFound
from germane.graph.aliases import name_key
from germane.graph.operations import EndRelation, PutEntity, PutMentions, PutRelation
from germane.graph.said import Said, merged
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sqlite.encoding import maybe_micros, micros, stored, to_json
from germane.stores.sqlite.graph_rows import entity_row, said_of, written_said
from germane.stores.sqlite.rows import first, only, rows
from germane.stores.sqlite.transaction import Transaction

__all__ = ["end_relation", "own_key", "put_entity", "put_mentions", "put_refs", "put_relation", "thing_of", "write_names"]

_INSERT = (
    "INSERT INTO entities (type, name, name_key, aliases, properties, salience, salient_at, rank, sensitivity, created_at,"
    " updated_at, id, partition, mentions, stated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)"
)
_UPDATE = (
    "UPDATE entities SET type = ?, name = ?, name_key = ?, aliases = ?, properties = ?, salience = ?, salient_at = ?, rank = ?,"
    " sensitivity = ?, created_at = ?, updated_at = ?, stated = ? WHERE key = ?"
)
_UPDATE_USED = _UPDATE.replace("type = ?, name = ?, name_key = ?, ", "")
"""Of an entity whose type and name stay: the index of the names isn't written."""
_MENTION = "INSERT OR IGNORE INTO mentions SELECT ?, ?, key, ?, ? FROM entities WHERE id = ? AND partition = ?"
_COUNT = "UPDATE entities SET mentions = mentions + 1 WHERE id = ? AND partition = ?"
_RELATION = (
    "INSERT INTO relations (weight, confidence, strength, properties, valid_from, valid_to, ended_by, sensitivity, stated,"
    " created_at, updated_at, source, type, target, id, partition) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_REPLACED = (
    "UPDATE relations SET weight = ?, confidence = ?, strength = ?, properties = ?, valid_from = ?, valid_to = ?,"
    " ended_by = coalesce(?, ended_by), sensitivity = ?, stated = ?, created_at = ?, updated_at = ? WHERE key = ?"
)
_THINGS = {"events": "events", "memories": "memories", "blocks": "archival_entries"}


def put_entity(transaction: Transaction, partition: int, change: PutEntity) -> None:
    """Raises `NotFound` where another partition has an entity with this id."""
    entity, connection = change.entity, transaction.connection
    row = entity_row(entity, name_key(entity.name))
    sql = "SELECT key, partition, stated, type, name, name_key FROM entities WHERE id = ?"
    held = first(connection, sql, (entity.id,))
    if held is None:
        stated = None if change.stated is None else written_said(change.stated)
        connection.execute(_INSERT, (*row, entity.id, partition, stated))
        write_names(connection, partition, connection.last_insert_rowid(), change.keys)
    else:
        if held[1] != partition:
            raise NotFound(f"no entity {entity.id!r} of this scope's own")
        last = (_stated(held[2], change.stated), held[0])
        if row[:3] == held[3:]:
            connection.execute(_UPDATE_USED, (*row[3:], *last))
        else:
            connection.execute(_UPDATE, (*row, *last))
        write_names(connection, partition, held[0], change.keys)
    transaction.touch((partition,))


def write_names(connection: apsw.Connection, partition: int, entity: int, keys: Iterable[str]) -> None:
    """Makes `keys` the keys that an entity is found by."""
    wanted = {stored(key) for key in keys if key}
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
        said, whose = change.said.get(id, Said()), (stored(id), partition)
        connection.execute(_MENTION, (domain, thing, at, written_said(said), *whose))
        if connection.changes():
            connection.execute(_COUNT, whose)
            continue
        where = (domain, thing, own_key(connection, partition, "entities", id))
        (held,) = only(connection, "SELECT said FROM mentions WHERE domain = ? AND thing = ? AND entity = ?", where)
        both = written_said(merged((said_of(held), said)))
        connection.execute("UPDATE mentions SET said = ? WHERE domain = ? AND thing = ? AND entity = ?", (both, *where))
    transaction.touch((partition,))


def put_relation(transaction: Transaction, partition: int, change: PutRelation) -> None:
    """Raises `NotFound` where an entity or a ref isn't the partition's own, and `Conflict` where another relation of these
    entities and this type has no end."""
    relation, connection = change.relation, transaction.connection
    held = first(connection, "SELECT key, partition, stated FROM relations WHERE id = ?", (relation.id,))
    if held is not None and held[1] != partition:
        raise NotFound(f"no relation {relation.id!r} of this scope's own")
    ends = tuple(own_key(connection, partition, "entities", id) for id in (relation.source, relation.target))
    triple = (ends[0], stored(relation.type), ends[1])
    if relation.valid_to is None:
        sql = "SELECT id FROM relations WHERE source = ? AND type = ? AND target = ? AND valid_to IS NULL AND id <> ?"
        if (other := first(connection, sql, (*triple, relation.id))) is not None:
            raise Conflict(f"relation {other[0]} says the same and has no end")
    row = (
        *(relation.weight, relation.confidence, relation.weight * relation.confidence, to_json(relation.properties)),
        *(micros(relation.valid_from), maybe_micros(relation.valid_to), change.ended_by),
        SENSITIVITY_CODES[relation.sensitivity],
        _stated(None if held is None else held[2], change.stated),
        *(micros(relation.created_at), micros(relation.updated_at)),
    )
    if held is None:
        connection.execute(_RELATION, (*row, *triple, relation.id, partition))
        key = connection.last_insert_rowid()
    else:
        key = held[0]
        connection.execute(_REPLACED, (*row, key))
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
        raise NotFound(f"no relation {change.id!r} of this scope's own that has no end")
    transaction.touch((partition,))


def own_key(connection: apsw.Connection, partition: int, table: str, id: str) -> int:
    """Returns the row key of the partition's own entity, relation or pattern. Raises `NotFound`."""
    found = first(connection, f"SELECT key FROM {table} WHERE id = ? AND partition = ?", (stored(id), partition))
    if found is None:
        raise NotFound(f"{table} of this scope's own don't include {id[:80]!r}")
    return int(found[0])


def thing_of(transaction: Transaction, partition: int, id: str) -> tuple[str, int, int]:
    """Returns domain, row key and time of the partition's own event, memory or archival entry. Raises `NotFound`."""
    transaction.write_events()
    for domain, table in _THINGS.items():
        sql = f"SELECT key, created_at FROM {table} WHERE id = ? AND partition = ?"
        found = first(transaction.connection, sql, (stored(id), partition))
        if found is not None:
            return domain, found[0], found[1]
    raise NotFound(f"no message or memory {id[:80]!r} of this scope's own")


def _stated(held: str | None, new: Said | None) -> str | None:
    if new is None:
        return held
    return written_said(new if held is None else merged((said_of(held), new)))
