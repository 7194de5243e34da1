"""Reader: reads the entities, relations and patterns that one scope sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

from germane.errors import InvalidInput
from germane.kinds.graph.traversal import MAX_DEPTH, MAX_READ, chain, run_walk, shortest_path, walk
from germane.kinds.graph.value import Entity, EntityPage, Neighbourhood, Pattern, Relation, Step
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.lookup import (
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
from germane.stores.sql.listing import SECRET, Listing, VisiblePartition, in_clause, merge_rows, owners, visible_partitions
from germane.stores.sql.reading import Readers, Reading
from germane.stores.sql.statements import LISTED, Row, first, micros, only, rows, to_json, to_sql
from germane.types.query import Filters
from germane.types.scope import Scope

T = TypeVar("T")
_ANY_SENSITIVITY = Filters(sensitivities=("public", "private", "sensitive"))
_THING_IDS = (
    "coalesce(CASE m.domain WHEN 'events' THEN (SELECT id FROM events WHERE key = m.thing)"
    " WHEN 'memories' THEN (SELECT id FROM memories WHERE key = m.thing)"
    " ELSE (SELECT id FROM archival_entries WHERE key = m.thing) END, '')"
)
_ID, _NAME = 2, 13
"""Columns of the rows of `ENTITY`."""
_DOMAINS = {"events": "events", "memories": "memories", "blocks": "archival_entries"}


class SqlGraph:
    """Implements `germane.kinds.graph.reads.GraphReader`."""

    def __init__(self, scope: Scope, readers: Readers) -> None:
        self._scope, self._readers = scope, readers

    async def entities(self, ids: Sequence[str]) -> tuple[Entity, ...]:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[Entity, ...]:
            sql = f"{ENTITY} WHERE n.id IN {LISTED} AND +n.partition IN {in_clause(visible)}"
            found = {row[2]: entity_of(row, owners(visible)) for row in rows(connection, sql, (to_json(list(ids)),))}
            return tuple(found[id] for id in dict.fromkeys(ids) if id in found)

        return await self._read(work, ())

    async def named(self, keys: Sequence[str], *, filters: Filters, limit: int = 50) -> tuple[Entity, ...]:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[Entity, ...]:
            return entities_named(connection, visible, keys, filters, limit)

        return await self._read(work, ())

    async def salient(self, limit: int, *, at: datetime, filters: Filters) -> tuple[Entity, ...]:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[Entity, ...]:
            return salient_entities(connection, visible, limit, at, filters)

        return await self._read(work, ())

    async def page(
        self, filters: Filters, *, prefix: str = "", type: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> EntityPage:
        if limit < 1:
            raise InvalidInput(f"limit must be 1 or more, not {limit}")

        def work(reading: Reading) -> EntityPage:
            connection = reading.connection
            visible = visible_partitions(connection, self._scope)
            listing = Listing(only(connection, SECRET)[0], self._scope, filters, f"entities {prefix} {type}")
            if not visible or not filters.sensitivities:
                return EntityPage(entities=())
            after: Row = ()
            if cursor is not None:
                row = first(connection, "SELECT name_key, id FROM entities WHERE key = ?", (listing.position(cursor)[1],))
                if row is None:
                    raise InvalidInput("cursor stands at an entity that is gone: begin again without one")
                after = row

            def by_name(partition: VisiblePartition) -> Iterator[Row]:
                clause, values = entity_clause((partition,), filters)
                clause, values = f"n.partition = ? AND {clause}", [partition.id, *values]
                if prefix:
                    clause += " AND n.name_key >= ? AND n.name_key < ?"
                    values += [to_sql(prefix), to_sql(prefix + "\U0010ffff")]
                if type is not None:
                    clause += " AND n.type = ?"
                    values.append(to_sql(type))
                if after:
                    clause += " AND (n.name_key, n.id) > (?, ?)"
                    values += after
                return rows(connection, f"{ENTITY} WHERE {clause} ORDER BY n.name_key, n.id", values)

            found = list(islice(merge_rows(visible, by_name, lambda row: (row[_NAME], row[_ID])), limit + 1))
            entities = tuple(entity_of(row, owners(visible)) for row in found[:limit])
            more = listing.cursor(0, found[limit - 1][0]) if len(found) > limit else None
            return EntityPage(entities=entities, cursor=more)

        return await self._readers.run(work)

    async def neighbourhood(
        self, starts: Sequence[str], *, depth: int, fan_out: int, at: datetime | None, filters: Filters, limit: int = 200
    ) -> Neighbourhood:
        if not 0 <= depth <= MAX_DEPTH or fan_out < 1 or limit < 0:
            raise InvalidInput(f"depth must be 0 to {MAX_DEPTH}, fan_out 1 or more, limit 0 or more")

        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> Neighbourhood:
            keys = _keys(connection, visible, starts, filters)
            answer = heaviest_edges(connection, visible, at=at, filters=filters, limit=fan_out + 1)
            walked = run_walk(walk(keys, depth=depth, fan_out=fan_out, limit=limit), answer)
            users = owners(visible)
            entities = entities_by_key(connection, users, walked.depths)
            relations = relations_by_key(connection, users, [edge.key for edge in walked.edges])
            return Neighbourhood(
                entities=tuple(entities.values()),
                relations=tuple(relations.values()),
                depths={entity.id: walked.depths[key] for key, entity in entities.items()},
                capped=walked.capped,
            )

        return await self._read(work, Neighbourhood())

    async def path(self, start: str, goal: str, *, at: datetime | None, filters: Filters) -> tuple[Step, ...] | None:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[Step, ...] | None:
            ends = [_keys(connection, visible, (id,), filters) for id in (start, goal)]
            if not all(ends):
                return None
            answer = all_edges(connection, visible, at=at, filters=filters, limit=MAX_READ)
            found = run_walk(shortest_path(ends[0][0], ends[1][0]), answer)
            if found is None:
                return None
            relations = relations_by_key(connection, owners(visible), [edge.key for edge, _ in found])
            return tuple(Step(relations[edge.key], backwards) for edge, backwards in found)

        return await self._read(work, None, small=False)

    async def chain(
        self,
        start: str,
        types: Sequence[str],
        *,
        backwards: bool,
        limit: int = 50,
        at: datetime | None = None,
        filters: Filters = _ANY_SENSITIVITY,
    ) -> tuple[Relation, ...]:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[Relation, ...]:
            keys = _keys(connection, visible, (start,), filters)
            if not keys:
                return ()
            wide = {"backwards": backwards, "at": at, "filters": filters, "limit": MAX_READ}
            answer = directed_edges(connection, visible, types, **wide)  # type: ignore[arg-type]
            edges = run_walk(chain(keys[0], backwards=backwards, limit=limit), answer)
            return tuple(relations_by_key(connection, owners(visible), [edge.key for edge in edges]).values())

        return await self._read(work, ())

    async def relations(
        self, entity: str, *, at: datetime | None, limit: int = 100, filters: Filters = _ANY_SENSITIVITY
    ) -> tuple[Relation, ...]:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[Relation, ...]:
            keys = _keys(connection, visible, (entity,), filters)
            edges = heaviest_edges(connection, visible, at=at, filters=filters, limit=limit)(keys) if keys else {}
            found = [edge.key for edge in edges.get(keys[0], ())] if keys else []
            return tuple(relations_by_key(connection, owners(visible), found).values())

        return await self._read(work, ())

    async def mentions(self, entity: str, *, limit: int = 100, before: datetime | None = None) -> tuple[str, ...]:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[str, ...]:
            keys = _keys(connection, visible, (entity,), _ANY_SENSITIVITY)
            if not keys:
                return ()
            until = micros(before) if before is not None else 1 << 62
            sql = (
                f"SELECT {_THING_IDS} FROM mentions m WHERE m.entity = ? AND m.at < ? ORDER BY m.at DESC, m.thing DESC LIMIT ?"
            )
            return tuple(id for (id,) in rows(connection, sql, (keys[0], until, limit)) if id)

        return await self._read(work, ())

    async def mentioned_in(self, things: Sequence[str]) -> dict[str, tuple[str, ...]]:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> dict[str, tuple[str, ...]]:
            found = dict[str, tuple[str, ...]]()
            for domain, table in _DOMAINS.items():
                sql = (
                    f"SELECT t.id, n.id FROM {table} t JOIN mentions m ON m.domain = '{domain}' AND m.thing = t.key"
                    f" JOIN entities n ON n.key = m.entity WHERE t.id IN {LISTED} AND +t.partition IN {in_clause(visible)}"
                    " ORDER BY n.key"
                )
                for thing, entity in rows(connection, sql, (to_json(list(things)),)):
                    found[thing] = (*found.get(thing, ()), entity)
            return found

        return await self._read(work, {})

    async def patterns(
        self, words: Sequence[str], *, intent: str | None, entity_types: Sequence[str], filters: Filters, limit: int = 20
    ) -> tuple[Pattern, ...]:
        def work(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[Pattern, ...]:
            asked: dict[str, Any] = {"intent": intent, "entity_types": entity_types, "filters": filters, "limit": limit}
            return matching_patterns(connection, visible, owners(visible), words, **asked)

        return await self._read(work, ())

    async def _read(
        self, work: Callable[[Connection, tuple[VisiblePartition, ...]], T], nothing: T, *, small: bool = True
    ) -> T:
        def reading_work(reading: Reading) -> T:
            visible = reading.visible(self._scope)
            return work(reading.connection, visible) if visible else nothing

        return await (self._readers.read_batched(reading_work) if small else self._readers.run(reading_work))


def _keys(connection: Connection, visible: tuple[VisiblePartition, ...], ids: Sequence[str], filters: Filters) -> list[int]:
    """Returns the row keys of the entities with these ids, in this order."""
    clause, values = entity_clause(visible, filters)
    sql = f"SELECT n.id, n.key FROM entities n INDEXED BY entities_id WHERE n.id IN {LISTED} AND {clause}"
    found: dict[str, int] = dict(rows(connection, sql, (to_json(list(ids)), *values)))
    return [found[id] for id in dict.fromkeys(ids) if id in found]
