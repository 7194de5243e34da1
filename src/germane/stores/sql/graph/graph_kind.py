"""Graph kind: what the operations on all kinds do to entities, relations and patterns, each with who said what of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from germane.kinds.graph.value import entity_hash, pattern_hash, relation_hash
from germane.kinds.memories.reads import Forget, Select
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.lookup import (
    ENTITY,
    PATTERN,
    RELATION,
    entity_of,
    holding,
    pattern_of,
    relation_of,
    said_of,
    sensitivity_codes,
)
from germane.stores.sql.graph.totals import drop_rows
from germane.stores.sql.kind import Counted, GateQuestion, KindTable, SqlKind, of_ids, of_keys
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, in_clause, visible_ids
from germane.stores.sql.statements import LISTED, Row, from_json, from_sql, maybe_moment, only, rows, to_json
from germane.stores.sql.tombstones import bury
from germane.stores.sql.transaction import Transaction
from germane.stores.sql.where_clauses import all_or_ids

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Sources, Thing

_TABLES = ("entities", "relations", "patterns")
_DOMAINS = {"events": "events", "memories": "memories", "blocks": "archival_entries"}
"""The tables of what says something of entities and relations, by the name that is stored with what it says."""
_ID = (
    "CASE x.domain WHEN 'events' THEN (SELECT id FROM events WHERE key = x.thing)"
    " WHEN 'memories' THEN (SELECT id FROM memories WHERE key = x.thing)"
    " ELSE (SELECT id FROM archival_entries WHERE key = x.thing) END"
)


def _dump(connection: Connection, partition: int, owner: Owner) -> Iterator[Thing]:
    """Yields them in the order in which they were stored."""
    from germane.transfer.contents import StoredEntity, StoredPattern, StoredRelation

    users = {partition: owner.user}
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


def _keys(connection: Connection, table: str, partition: int) -> list[int]:
    return sorted(key for (key,) in rows(connection, f"SELECT key FROM {table} WHERE partition = ?", (partition,)))


def _sources(connection: Connection, table: str, column: str, key: int) -> Sources:
    sql = f"SELECT {_ID}, x.said FROM {table} x WHERE x.{column} = ? ORDER BY x.domain, x.thing"
    return tuple((id, said_of(said)) for id, said in rows(connection, sql, (key,)))


def _count(connection: Connection, here: str, at: datetime) -> Counted:
    return Counted({table: only(connection, f"SELECT count(*) FROM {table} WHERE partition IN {here}")[0] for table in _TABLES})


# Forgetting takes what is named, and what nothing mentions any more.


def _select(connection: Connection, partition: VisiblePartition, read: Select) -> list[str]:
    """They match ids of germane's, the owner, or `everything`, and no other criterion."""
    if (matching := all_or_ids(read, partition.id)) is None:
        return []
    where, bound = matching
    sql = f"SELECT id FROM {{}} WHERE {where} ORDER BY key"
    return [id for table in _TABLES for (id,) in rows(connection, sql.format(table), bound)]


def _unsaid(connection: Connection, partition: VisiblePartition, things: Sequence[str]) -> list[str]:
    """Returns the ids of what goes with these messages, memories and archival entries: nothing else mentions or states it, and
    nobody stored it on purpose."""
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


def _forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Finds all before it removes any: relations go with their entities."""
    sql = f"SELECT key, id, partition FROM {{}} WHERE id IN {LISTED} AND +partition IN {in_clause(partitions)}"
    named = to_json(list(change.graph_ids))
    found: dict[str, list[Row]] = {table: list(rows(transaction.connection, sql.format(table), (named,))) for table in _TABLES}
    for table, these in found.items():
        for partition in sorted({row[2] for row in these}):
            drop_rows(transaction, partition, table, [row[0] for row in these if row[2] == partition])
    for table, these in found.items():
        bury(transaction, table, these, change)


# The gate: the hash is of what is shown. A relation has to hold, and both of its entities have to be visible.


def _shown(asked: GateQuestion, ids: Sequence[str]) -> Mapping[str, int]:
    connection, here, levels = asked.connection, IN_VISIBLE, sensitivity_codes(asked.filters)
    wanted = (to_json(list(ids)), *visible_ids(asked.visible))
    holds, times = holding(None if asked.filters.with_ended else asked.at)
    entities = f"WHERE n.id IN {LISTED} AND +n.partition IN {here} AND n.sensitivity IN {levels}"
    found = {
        id: entity_hash(from_sql(type), from_sql(name), from_json(properties))
        for id, type, name, properties in rows(
            connection, f"SELECT n.id, n.type, n.name, n.properties FROM entities n {entities}", wanted
        )
    }
    relations = (
        "SELECT r.id, s.name, r.type, t.name, r.valid_to FROM relations r"
        " JOIN entities s ON s.key = r.source JOIN entities t ON t.key = r.target"
        f" WHERE r.id IN {LISTED} AND +r.partition IN {here} AND r.sensitivity IN {levels} AND s.sensitivity IN {levels}"
        f" AND t.sensitivity IN {levels}{holds}"
    )
    found |= {
        id: relation_hash(from_sql(source), from_sql(type), from_sql(target), maybe_moment(ends))
        for id, source, type, target, ends in rows(connection, relations, (*wanted, *times))
    }
    patterns = (
        f"SELECT p.id, p.action FROM patterns p WHERE p.id IN {LISTED} AND +p.partition IN {here} AND p.sensitivity IN {levels}"
    )
    return found | {id: pattern_hash(from_sql(action)) for id, action in rows(connection, patterns, wanted)}


# The doctor counts rows that refer to nothing, and counts that differ.


_GONE = " OR ".join(
    f"(x.domain = '{domain}' AND NOT EXISTS (SELECT 1 FROM {table} WHERE key = x.thing))" for domain, table in _DOMAINS.items()
)

GRAPH_KIND = SqlKind(
    tables=(
        KindTable("entities", "entity", keeps="owner", exported="entities", changed="updated_at"),
        # A relation keeps nothing of its partition: it stands between two entities of the same partition, which do.
        KindTable("relations", "relation", exported="relations", changed="updated_at"),
        KindTable("patterns", "pattern", keeps="owner", exported="patterns", changed="updated_at"),
    ),
    dump=_dump,
    count=_count,
    ids="graph_ids",
    select=_select,
    unsaid=_unsaid,
    forget=_forget,
    remains={
        **{table: (of_ids(table),) for table in _TABLES},
        "mentions": tuple(
            f"{of_keys(table, 'thing', domain)} AND domain = '{domain}'"
            for table in ("mentions", "relation_refs", "pattern_refs")
            for domain in _DOMAINS
        ),
    },
    shown=_shown,
    asked_last=True,
    orphans={
        "names of entities": "entity_names k WHERE NOT EXISTS (SELECT 1 FROM entities WHERE key = k.entity)",
        "entities without a name": "entities n WHERE NOT EXISTS (SELECT 1 FROM entity_names WHERE entity = n.key)",
        "entities that nothing mentions": (
            "entities n WHERE stated IS NULL AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = n.key)"
        ),
        "entities with a wrong number of mentions": (
            "entities n WHERE mentions <> (SELECT count(*) FROM mentions WHERE entity = n.key)"
        ),
        "relations without their entities": (
            "relations r WHERE NOT EXISTS (SELECT 1 FROM entities WHERE key = r.source AND partition = r.partition)"
            " OR NOT EXISTS (SELECT 1 FROM entities WHERE key = r.target AND partition = r.partition)"
        ),
        "relations that nothing states": (
            "relations r WHERE stated IS NULL AND NOT EXISTS (SELECT 1 FROM relation_refs WHERE relation = r.key)"
        ),
        "mentions": f"mentions x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM entities WHERE key = x.entity)",
        "sources of relations": f"relation_refs x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM relations WHERE key = x.relation)",
        "sources of patterns": f"pattern_refs x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM patterns WHERE key = x.pattern)",
        "words of patterns": "pattern_words w WHERE NOT EXISTS (SELECT 1 FROM patterns WHERE key = w.pattern)",
    },
)
