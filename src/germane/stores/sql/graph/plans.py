"""Plans: the tables of the reads and changes about entities, relations and patterns, and what plans ask of them."""

from __future__ import annotations

from collections.abc import Mapping

from germane.kinds.graph.reads import (
    CountPattern,
    EndRelation,
    EntitiesById,
    EntitiesNamed,
    MergeEntities,
    OpenRelations,
    PatternById,
    PatternsWithAction,
    PutEntity,
    PutMentions,
    PutPattern,
    PutRelation,
    RelationsById,
)
from germane.kinds.graph.value import Entity, Pattern, Relation
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.lookup import ENTITY, PATTERN, RELATION, entity_of, pattern_of, relation_of
from germane.stores.sql.graph.reader import SEEN_READS
from germane.stores.sql.graph.totals import merge_entities
from germane.stores.sql.graph.writing import count_pattern, end_relation, put_entity, put_mentions, put_pattern, put_relation
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.reading import Answers, nothing, of_own
from germane.stores.sql.statements import LISTED, first, rows, to_json, to_sql
from germane.stores.sql.transaction import Appliers, ScopeWriting, to_own

_NAMED = f"{ENTITY} JOIN entity_names k ON k.entity = n.key WHERE k.partition = ? AND k.key = ? ORDER BY n.key LIMIT 50"
_RELATIONS_OF = (
    f"{RELATION} WHERE r.key IN"
    " (SELECT x.key FROM relations x INDEXED BY {} WHERE x.source = ? AND x.type = ? AND x.valid_to IS"
)
_KEY = "SELECT key FROM entities WHERE id = ? AND partition = ?"
_TARGETS = f" AND x.target IN (SELECT key FROM entities WHERE id IN {LISTED} AND +partition = ?)"
_OPEN_RELATIONS = _RELATIONS_OF.format("relations_open") + " NULL{} LIMIT ?)"
_ENDED_RELATIONS = _RELATIONS_OF.format("relations_past") + " NOT NULL{} ORDER BY x.valid_from DESC, x.key DESC LIMIT ?)"
_MAX_ENDED, _MAX_OPEN = 100, 100_000


def _named(connection: Connection, own: VisiblePartition, read: EntitiesNamed) -> Mapping[str, tuple[Entity, ...]]:
    found = dict[str, tuple[Entity, ...]]()
    for key in dict.fromkeys(read.keys):
        named = rows(connection, _NAMED, (own.id, to_sql(key)))
        if entities := tuple(entity_of(row, {own.id: own.user}) for row in named):
            found[key] = entities
    return found


def _entities(connection: Connection, own: VisiblePartition, read: EntitiesById) -> dict[str, Entity]:
    sql = f"{ENTITY} WHERE n.id IN {LISTED} AND +n.partition = ?"
    found = [entity_of(row, {own.id: own.user}) for row in rows(connection, sql, (to_json(read.ids), own.id))]
    return {entity.id: entity for entity in found}


def _relations(connection: Connection, own: VisiblePartition, read: RelationsById) -> dict[str, Relation]:
    sql = f"{RELATION} WHERE r.id IN {LISTED} AND +r.partition = ?"
    found = [relation_of(row, {own.id: own.user}) for row in rows(connection, sql, (to_json(read.ids), own.id))]
    return {relation.id: relation for relation in found}


def _open(connection: Connection, own: VisiblePartition, read: OpenRelations) -> tuple[Relation, ...]:
    found = list[Relation]()
    among, chosen = (_TARGETS, (to_json(read.targets), own.id)) if read.targets else ("", ())
    for source, type in dict.fromkeys(read.pairs):
        begins = first(connection, _KEY, (to_sql(source), own.id))
        for sql, limit in ((_OPEN_RELATIONS, _MAX_OPEN), (_ENDED_RELATIONS, _MAX_ENDED if read.with_ended else 0)):
            if begins is not None and limit:
                bound = (begins[0], to_sql(type), *chosen, limit)
                found += [relation_of(row, {own.id: own.user}) for row in rows(connection, sql.format(among), bound)]
    return tuple(sorted(found, key=lambda relation: (relation.valid_from, relation.id)))


def _pattern(connection: Connection, own: VisiblePartition, read: PatternById) -> Pattern | None:
    sql = f"{PATTERN} WHERE p.id = ? AND p.partition = ?"
    found = [pattern_of(row, {own.id: own.user}) for row in rows(connection, sql, (to_sql(read.id), own.id))]
    return found[0] if found else None


def _patterns(connection: Connection, own: VisiblePartition, read: PatternsWithAction) -> tuple[Pattern, ...]:
    action = to_sql(read.action)
    beginning = "substr(p.action, 1, 64) = substr(?, 1, 64)"  # the index has no more of it
    sql = f"{PATTERN} WHERE p.partition = ? AND {beginning} AND p.action = ? ORDER BY p.key LIMIT 100"
    found = rows(connection, sql, (own.id, action, action))
    return tuple(pattern_of(row, {own.id: own.user}) for row in found)


GRAPH_READS: Answers = {
    **SEEN_READS,
    EntitiesNamed: of_own(_named, dict),
    EntitiesById: of_own(_entities, dict),
    RelationsById: of_own(_relations, dict),
    OpenRelations: of_own(_open, tuple),
    PatternById: of_own(_pattern, nothing),
    PatternsWithAction: of_own(_patterns, tuple),
}


def _put_entity(writing: ScopeWriting, change: PutEntity) -> None:
    writing.check_owner(change.entity.user)
    put_entity(writing.transaction, writing.own_id(), change)


def _put_relation(writing: ScopeWriting, change: PutRelation) -> None:
    writing.check_owner(change.relation.user)
    put_relation(writing.transaction, writing.own_id(), change)


def _put_pattern(writing: ScopeWriting, change: PutPattern) -> None:
    writing.check_owner(change.pattern.user)
    put_pattern(writing.transaction, writing.own_id(), change)


GRAPH_CHANGES: Appliers = {
    PutEntity: _put_entity,
    PutMentions: to_own(put_mentions),
    PutRelation: _put_relation,
    EndRelation: to_own(end_relation),
    MergeEntities: to_own(merge_entities),
    PutPattern: _put_pattern,
    CountPattern: to_own(count_pattern),
}
