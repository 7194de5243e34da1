"""Graph plans: add and relate entities, end relations, merge entities and learn patterns, on purpose."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.errors import Conflict, InvalidInput, NotFound
from germane.kinds.graph.aliases import name_key
from germane.kinds.graph.linking import NamedEntities, relation_changes
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
    PutPattern,
    RelationsById,
)
from germane.kinds.graph.statement import MAX_ALIASES, EntityStatement, keys_of, with_statement
from germane.kinds.graph.value import Entity, Pattern, Relation
from germane.types.plan import Decision, Plan, Read, read, uuid7


def add_entity(type: str, said: EntityStatement, *, user: str | None, at: datetime) -> Plan[Entity]:
    """Stores an entity on purpose, or adds to the one of this type that has one of its names, as they are and not as
    short forms; the outcome is the entity. Raises `Conflict` where several have them."""
    keys = dict.fromkeys(key for name in said.names if (key := name_key(name, type)))
    known = NamedEntities((yield from read(EntitiesNamed(tuple(keys)))))
    decided = known.stands_for(type, said.names)
    if decided.decision == "ambiguous":
        those = ", ".join(entity.id for entity in decided.candidates)
        raise Conflict(f"{those} have these names: merge them, or add the one that you mean by its own name")
    same = decided.entity
    if same is None:
        given: dict[str, Any] = {"user": user, "properties": said.properties, "sensitivity": said.sensitivity}
        new = Entity(
            id=_id(at), type=type, name=said.names[0], salient_at=at, mentions=0, created_at=at, updated_at=at, **given
        )
        entity = with_statement(new, said, at)
    else:
        entity = with_statement(same, said, at)
    if len(said.names) > MAX_ALIASES + 1:
        raise InvalidInput(f"has {len(said.names) - 1} entries, {MAX_ALIASES} are allowed", path="aliases")
    return Decision((PutEntity(entity, keys_of(entity), said),), entity)


def relate_two(relation: Relation, *, exclusive: bool, at: datetime) -> Plan[Relation]:
    """Stores a relation between two entities of the scope's own, on purpose; the outcome is the relation as it is stored.
    Raises `NotFound` for an entity that isn't."""
    yield from _own(relation.source, relation.target)
    rivals = () if exclusive else (relation.target,)
    known = yield from read(OpenRelations(((relation.source, relation.type),), with_ended=True, targets=rivals))
    stated = EntityStatement(properties=relation.properties, sensitivity=relation.sensitivity)
    changes, kept = relation_changes(relation, known, exclusive=exclusive, now=at, stated=stated)
    return Decision(tuple(changes), kept)


def end_relation(id: str, at: datetime) -> Plan[Relation]:
    """Ends a relation of the scope's own; the outcome is the relation. Raises `NotFound`, and `InvalidInput` where it ended
    before, or begins later."""
    found = yield from read(RelationsById((id,)))
    if id not in found:
        raise NotFound("no relation {} of this scope's own", id)
    relation = found[id]
    if relation.valid_to is not None:
        raise InvalidInput(f"relation {id} ended on {relation.valid_to:%Y-%m-%d %H:%M} UTC")
    if at < relation.valid_from:
        raise InvalidInput(f"relation {id} begins on {relation.valid_from:%Y-%m-%d %H:%M} UTC, after this end")
    return Decision((EndRelation(id, at),), replace(relation, valid_to=at, updated_at=max(relation.updated_at, at)))


def merge_two(kept: str, gone: str) -> Plan[None]:
    """Merges two entities of the scope's own. Raises `NotFound`, and `InvalidInput` where both are one."""
    yield from _own(kept, gone)
    if kept == gone:
        raise InvalidInput("is the same entity as kept", path="gone", advice="name two")
    return Decision((MergeEntities(kept, gone),), None)


def learn_pattern(pattern: Pattern, refs: Sequence[str] = ()) -> Plan[Pattern]:
    """Stores a pattern, unless one that says the same is there; the outcome is the one that is stored."""
    for held in (yield from read(PatternsWithAction(pattern.action))):
        if _trigger(held) == _trigger(pattern):
            return Decision((), held)
    return Decision((PutPattern(pattern, tuple(refs)),), pattern)


def apply_pattern(id: str, *, succeeded: bool, at: datetime) -> Plan[Pattern]:
    """Counts an application of a pattern of the scope's own; the outcome is the pattern. Raises `NotFound`."""
    found = yield from read(PatternById(id))
    if found is None:
        raise NotFound("no pattern {} of this scope's own", id)
    successes, updated_at = found.successes + succeeded, max(found.updated_at, at)
    counted = replace(found, applications=found.applications + 1, successes=successes, updated_at=updated_at)
    return Decision((CountPattern(id, succeeded, at),), counted)


def _own(*ids: str) -> Generator[Read[Any], Any, None]:
    held = yield from read(EntitiesById(ids))
    for id in ids:
        if id not in held:
            raise NotFound("no entity {} of this scope's own: what belongs to the agent is changed without a user", id)


def _trigger(pattern: Pattern) -> tuple[object, ...]:
    return frozenset(pattern.keywords), pattern.intent, frozenset(pattern.entity_types)


def _id(at: datetime) -> str:
    return uuid7(int(at.timestamp() * 1000))
