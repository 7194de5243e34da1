"""Reader: reads the entities, relations and patterns that one scope sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from germane.errors import InvalidInput
from germane.kinds.graph.reads import (
    CausalChain,
    ListEntities,
    MatchingPatterns,
    MentionedIn,
    MentionsOf,
    RelationsOf,
    SalientEntities,
    SeenEntities,
    SeenNamed,
    ShortestPath,
    WalkFrom,
)
from germane.kinds.graph.traversal import MAX_DEPTH, MAX_READ, chain, run_walk, shortest_path, walk
from germane.kinds.graph.value import Entity, EntityPage, Neighbourhood, Pattern, Relation, Step
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.lookup import (
    ENTITIES,
    ENTITY,
    all_edges,
    directed_edges,
    entities_by_key,
    entities_named,
    entity_clause,
    entity_of,
    heaviest_edges,
    relations_by_key,
    salient_entities,
)
from germane.stores.sql.graph.writing import matching_patterns
from germane.stores.sql.listing import SECRET, Listing, VisiblePartition, in_clause, merge_rows, owners
from germane.stores.sql.reading import Answers, ScopeReading, nothing, of_visible
from germane.stores.sql.statements import LISTED, Row, first, micros, only, rows, to_json, to_sql
from germane.types.query import EVERY_SENSITIVITY, Filters

_THING_IDS = (
    "coalesce(CASE m.domain WHEN 'events' THEN (SELECT id FROM events WHERE key = m.thing)"
    " WHEN 'memories' THEN (SELECT id FROM memories WHERE key = m.thing)"
    " ELSE (SELECT id FROM archival_entries WHERE key = m.thing) END, '')"
)
_ID, _NAME = ENTITIES.place("id"), -1
"""Columns of the rows of `ENTITY`."""
_DOMAINS = {"events": "events", "memories": "memories", "blocks": "archival_entries"}


def _entities(connection: Connection, visible: tuple[VisiblePartition, ...], read: SeenEntities) -> tuple[Entity, ...]:
    sql = f"{ENTITY} WHERE n.id IN {LISTED} AND +n.partition IN {in_clause(visible)}"
    found = {row[_ID]: entity_of(row, owners(visible)) for row in rows(connection, sql, (to_json(list(read.ids)),))}
    return tuple(found[id] for id in dict.fromkeys(read.ids) if id in found)


def _named(connection: Connection, visible: tuple[VisiblePartition, ...], read: SeenNamed) -> tuple[Entity, ...]:
    return entities_named(connection, visible, read.keys, read.filters, read.limit)


def _salient(connection: Connection, visible: tuple[VisiblePartition, ...], read: SalientEntities) -> tuple[Entity, ...]:
    return salient_entities(connection, visible, read.limit, read.at, read.filters)


def _page(reading: ScopeReading, read: ListEntities) -> EntityPage:
    connection, visible, filters = reading.connection, reading.visible, read.filters
    if read.limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {read.limit}")
    listing = Listing(only(connection, SECRET)[0], reading.scope, filters, f"entities {read.prefix} {read.type}")
    if not visible or not filters.sensitivities:
        return EntityPage(entities=())
    after: Row = ()
    if read.cursor is not None:
        row = first(connection, "SELECT name_key, id FROM entities WHERE key = ?", (listing.position(read.cursor)[1],))
        if row is None:
            raise InvalidInput("cursor stands at an entity that is gone: begin again without one")
        after = row

    def by_name(partition: VisiblePartition) -> Iterator[Row]:
        clause, values = entity_clause((partition,), filters)
        clause, values = f"n.partition = ? AND {clause}", [partition.id, *values]
        if read.prefix:
            clause += " AND n.name_key >= ? AND n.name_key < ?"
            values += [to_sql(read.prefix), to_sql(read.prefix + "\U0010ffff")]
        if read.type is not None:
            clause += " AND n.type = ?"
            values.append(to_sql(read.type))
        if after:
            clause += " AND (n.name_key, n.id) > (?, ?)"
            values += after
        return rows(connection, f"{ENTITY} WHERE {clause} ORDER BY n.name_key, n.id", values)

    found = list(islice(merge_rows(visible, by_name, lambda row: (row[_NAME], row[_ID])), read.limit + 1))
    entities = tuple(entity_of(row, owners(visible)) for row in found[: read.limit])
    more = listing.cursor(0, found[read.limit - 1][0]) if len(found) > read.limit else None
    return EntityPage(entities=entities, cursor=more)


def _walk_from(connection: Connection, visible: tuple[VisiblePartition, ...], read: WalkFrom) -> Neighbourhood:
    if not 0 <= read.depth <= MAX_DEPTH or read.fan_out < 1 or read.limit < 0:
        raise InvalidInput(f"depth must be 0 to {MAX_DEPTH}, fan_out 1 or more, limit 0 or more")
    keys = _keys(connection, visible, read.starts, read.filters)
    answer = heaviest_edges(connection, visible, at=read.at, filters=read.filters, limit=read.fan_out + 1)
    walked = run_walk(walk(keys, depth=read.depth, fan_out=read.fan_out, limit=read.limit), answer)
    users = owners(visible)
    entities = entities_by_key(connection, users, walked.depths)
    relations = relations_by_key(connection, users, [edge.key for edge in walked.edges])
    return Neighbourhood(
        entities=tuple(entities.values()),
        relations=tuple(relations.values()),
        depths={entity.id: walked.depths[key] for key, entity in entities.items()},
        capped=walked.capped,
    )


def _path(connection: Connection, visible: tuple[VisiblePartition, ...], read: ShortestPath) -> tuple[Step, ...] | None:
    ends = [_keys(connection, visible, (id,), read.filters) for id in (read.start, read.goal)]
    if not all(ends):
        return None
    answer = all_edges(connection, visible, at=read.at, filters=read.filters, limit=MAX_READ)
    found = run_walk(shortest_path(ends[0][0], ends[1][0]), answer)
    if found is None:
        return None
    relations = relations_by_key(connection, owners(visible), [edge.key for edge, _ in found])
    return tuple(Step(relations[edge.key], backwards) for edge, backwards in found)


def _chain(connection: Connection, visible: tuple[VisiblePartition, ...], read: CausalChain) -> tuple[Relation, ...]:
    keys = _keys(connection, visible, (read.start,), read.filters)
    if not keys:
        return ()
    wide = {"backwards": read.backwards, "at": read.at, "filters": read.filters, "limit": MAX_READ}
    answer = directed_edges(connection, visible, read.types, **wide)  # type: ignore[arg-type]
    edges = run_walk(chain(keys[0], backwards=read.backwards, limit=read.limit), answer)
    return tuple(relations_by_key(connection, owners(visible), [edge.key for edge in edges]).values())


def _relations(connection: Connection, visible: tuple[VisiblePartition, ...], read: RelationsOf) -> tuple[Relation, ...]:
    keys = _keys(connection, visible, (read.entity,), read.filters)
    edges = heaviest_edges(connection, visible, at=read.at, filters=read.filters, limit=read.limit)(keys) if keys else {}
    found = [edge.key for edge in edges.get(keys[0], ())] if keys else []
    return tuple(relations_by_key(connection, owners(visible), found).values())


def _mentions(connection: Connection, visible: tuple[VisiblePartition, ...], read: MentionsOf) -> tuple[str, ...]:
    keys = _keys(connection, visible, (read.entity,), EVERY_SENSITIVITY)
    if not keys:
        return ()
    until = micros(read.before) if read.before is not None else 1 << 62
    sql = f"SELECT {_THING_IDS} FROM mentions m WHERE m.entity = ? AND m.at < ? ORDER BY m.at DESC, m.thing DESC LIMIT ?"
    return tuple(id for (id,) in rows(connection, sql, (keys[0], until, read.limit)) if id)


def _mentioned_in(
    connection: Connection, visible: tuple[VisiblePartition, ...], read: MentionedIn
) -> dict[str, tuple[str, ...]]:
    found = dict[str, tuple[str, ...]]()
    for domain, table in _DOMAINS.items():
        sql = (
            f"SELECT t.id, n.id FROM {table} t JOIN mentions m ON m.domain = '{domain}' AND m.thing = t.key"
            f" JOIN entities n ON n.key = m.entity WHERE t.id IN {LISTED} AND +t.partition IN {in_clause(visible)}"
            " ORDER BY n.key"
        )
        for thing, entity in rows(connection, sql, (to_json(list(read.things)),)):
            found[thing] = (*found.get(thing, ()), entity)
    return found


def _patterns(connection: Connection, visible: tuple[VisiblePartition, ...], read: MatchingPatterns) -> tuple[Pattern, ...]:
    return matching_patterns(connection, visible, read)


def _keys(connection: Connection, visible: tuple[VisiblePartition, ...], ids: Sequence[str], filters: Filters) -> list[int]:
    """Returns the row keys of the entities with these ids, in this order."""
    clause, values = entity_clause(visible, filters)
    sql = f"SELECT n.id, n.key FROM entities n INDEXED BY entities_id WHERE n.id IN {LISTED} AND {clause}"
    found: dict[str, int] = dict(rows(connection, sql, (to_json(list(ids)), *values)))
    return [found[id] for id in dict.fromkeys(ids) if id in found]


SEEN_READS: Answers = {
    ListEntities: _page,
    SeenEntities: of_visible(_entities, tuple),
    SeenNamed: of_visible(_named, tuple),
    SalientEntities: of_visible(_salient, tuple),
    WalkFrom: of_visible(_walk_from, Neighbourhood),
    ShortestPath: of_visible(_path, nothing),
    CausalChain: of_visible(_chain, tuple),
    RelationsOf: of_visible(_relations, tuple),
    MentionsOf: of_visible(_mentions, tuple),
    MentionedIn: of_visible(_mentioned_in, dict),
    MatchingPatterns: of_visible(_patterns, tuple),
}
"""The reads of all that a scope sees."""
