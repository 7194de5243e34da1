"""Graph lines: writes entities, relations and patterns as JSON objects, and reads them back with checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.graph.aliases import name_key
from germane.kinds.graph.reads import (
    EntitiesById,
    OpenRelations,
    PatternById,
    PutEntity,
    PutMentions,
    PutPattern,
    PutRelation,
    RelationsById,
    ThingsStored,
)
from germane.kinds.graph.statement import MAX_ALIASES, MAX_PROPERTIES, EntityStatement, keys_of, merge_statements, rewritten
from germane.kinds.graph.value import Entity, Pattern, Relation
from germane.kinds.memories.fields import json_value, share
from germane.kinds.memories.reads import IdsInUse
from germane.transfer.contents import Owner, Sources, StoredEntity, StoredPattern, StoredRelation
from germane.transfer.line_fields import LineFields, written_time
from germane.transfer.restore import OTHER_CONTENT, TAKEN_ID, Placed, decided
from germane.types.limits import ID, NAME, NAMES, REMARK, TAG, check_entries
from germane.types.limits import check_text as string
from germane.types.plan import Change, Decision, Plan, read

_MAX_SOURCES = 1_000_000


def graph_line(thing: StoredEntity | StoredRelation | StoredPattern) -> tuple[str, dict[str, Any]]:
    """Returns the type and the fields of a line, without its owner."""
    match thing:
        case StoredEntity(entity=entity):
            return "entity", {
                "id": entity.id,
                "entity_type": entity.type,
                "name": entity.name,
                "aliases": list(entity.aliases),
                "properties": dict(entity.properties),
                "salience": entity.salience,
                "salient_at": entity.salient_at.isoformat(),
                **_ended(entity),
                "stated": _said(thing.stated),
                "mentions": [[id, _said(said)] for id, said in thing.mentions],
            }
        case StoredRelation(relation=relation):
            return "relation", {
                "id": relation.id,
                "source": relation.source,
                "relation_type": relation.type,
                "target": relation.target,
                "weight": relation.weight,
                "confidence": relation.confidence,
                "properties": dict(relation.properties),
                "valid_from": relation.valid_from.isoformat(),
                "valid_to": written_time(relation.valid_to),
                "ended_by": thing.ended_by,
                **_ended(relation),
                "stated": _said(thing.stated),
                "refs": [[id, _said(said)] for id, said in thing.refs],
            }
        case StoredPattern(pattern=pattern):
            return "pattern", {
                "id": pattern.id,
                "action": pattern.action,
                "keywords": list(pattern.keywords),
                "intent": pattern.intent,
                "entity_types": list(pattern.entity_types),
                "successes": pattern.successes,
                "applications": pattern.applications,
                **_ended(pattern),
                "refs": list(thing.refs),
            }


def parsed_entity(line: Mapping[str, Any], owner: Owner) -> StoredEntity:
    """Returns the entity in a line. Raises `InvalidInput`."""
    given = LineFields(line, "an entity")
    aliases = check_entries("aliases", given.take("aliases", ()), NAMES, NAME)
    entity = Entity(
        id=given.text("id", ID),
        type=given.text("entity_type", TAG),
        name=given.text("name", NAME),
        user=owner.user,
        aliases=aliases,
        properties=_properties(given.take("properties", {})),
        salience=share("salience", given.take("salience")),
        salient_at=given.time("salient_at"),
        mentions=0,
        **_ending(given),
    )
    stated, mentions = _parsed(given.take("stated", None)), _sources(given.take("mentions", ()))
    given.end()
    if not name_key(entity.name):
        raise InvalidInput("name has no character that can be looked up")
    return StoredEntity(entity=entity, stated=stated, mentions=mentions)


def parsed_relation(line: Mapping[str, Any], owner: Owner) -> StoredRelation:
    """Returns the relation in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a relation")
    relation = Relation(
        id=given.text("id", ID),
        source=given.text("source", ID),
        type=given.text("relation_type", TAG),
        target=given.text("target", ID),
        user=owner.user,
        weight=share("weight", given.take("weight", 1.0)),
        confidence=share("confidence", given.take("confidence", 0.8)),
        properties=_properties(given.take("properties", {})),
        valid_from=given.time("valid_from"),
        valid_to=given.maybe_time("valid_to"),
        **_ending(given),
    )
    stated, refs = _parsed(given.take("stated", None)), _sources(given.take("refs", ()))
    ended_by = given.maybe_text("ended_by", ID)
    given.end()
    return StoredRelation(relation=relation, stated=stated, refs=refs, ended_by=ended_by)


def parsed_pattern(line: Mapping[str, Any], owner: Owner) -> StoredPattern:
    """Returns the pattern in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a pattern")
    intent = given.take("intent", None)
    pattern = Pattern(
        id=given.text("id", ID),
        action=given.text("action", REMARK),
        keywords=check_entries("keywords", given.take("keywords", ()), NAMES, TAG),
        intent=None if intent is None else string("intent", intent, TAG),
        entity_types=check_entries("entity_types", given.take("entity_types", ()), NAMES, TAG),
        user=owner.user,
        successes=given.count("successes", 0),
        applications=given.count("applications", 0),
        **_ending(given),
    )
    refs = check_entries("refs", given.take("refs", ()), NAMES, ID)
    given.end()
    return StoredPattern(pattern=pattern, refs=refs)


def _ended(thing: Entity | Relation | Pattern) -> dict[str, Any]:
    times = {name: getattr(thing, name).isoformat() for name in ("created_at", "updated_at")}
    return {"sensitivity": thing.sensitivity, **times}


def _said(said: EntityStatement | None) -> dict[str, Any] | None:
    if said is None:
        return None
    return {"names": list(said.names), "properties": dict(said.properties), "sensitivity": said.sensitivity}


def _parsed(value: Any) -> EntityStatement | None:
    if value is None:
        return None
    given = LineFields(value, "what was said")
    names = check_entries("names", given.take("names", ()), NAMES, NAME)
    if len(names) > MAX_ALIASES + 1 or not all(map(name_key, names)):
        raise InvalidInput(f"names must be at most {MAX_ALIASES + 1} names that can be looked up")
    said = EntityStatement(names=names, properties=_properties(given.take("properties", {})), sensitivity=given.sensitivity())
    given.end()
    return said


def _sources(value: Any) -> Sources:
    if not isinstance(value, list | tuple) or len(value) > _MAX_SOURCES:
        raise InvalidInput(f"mentions and refs must be lists of at most {_MAX_SOURCES:,} pairs")
    found = dict[str, EntityStatement]()
    for pair in value:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InvalidInput("a mention, or a ref, is a pair: an id, and what is said there")
        found[string("an id", pair[0], ID)] = _parsed(pair[1]) or EntityStatement()
    return tuple(found.items())


def _properties(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or len(value) > MAX_PROPERTIES or not all(isinstance(key, str) for key in value):
        raise InvalidInput(f"properties must be an object of at most {MAX_PROPERTIES} entries")
    found: Mapping[str, Any] = json_value("properties", dict(value))
    return found


def _ending(given: LineFields) -> dict[str, Any]:
    """The fields that all three have."""
    created, updated = given.time("created_at"), given.maybe_time("updated_at")
    return {"sensitivity": given.sensitivity(), "created_at": created, "updated_at": updated or created}


# Restore graph: the plans that store the entities, relations and patterns of an export as they were. What a message or
# memory said of them is restored where that is stored here, and isn't where it was forgotten.


def restore_entities(things: Sequence[StoredEntity], *, strict: bool) -> Plan[Placed]:
    """Stores the entities that aren't there. An entity is there where its id has the same type: its names and properties may
    have changed since, and stay. One that nothing mentions here, and that nobody stored on purpose, counts as forgotten."""
    ids = tuple(one.entity.id for one in things)
    use, held = (yield from read(IdsInUse(ids))), dict((yield from read(EntitiesById(ids))))
    there = yield from read(ThingsStored(_ids_of_sources(one.mentions for one in things)))
    placed, changes = Placed(), list[Change]()
    for index, one in enumerate(things):
        mentions = [(id, said) for id, said in one.mentions if id in there]
        if one.entity.id in use.forgotten:
            placed.forgotten += 1
        elif one.entity.id in use.elsewhere:
            placed.clash(index, TAKEN_ID)
        elif (known := held.get(one.entity.id)) is not None:
            if known.type == one.entity.type:
                placed.known += 1
            else:
                placed.clash(index, OTHER_CONTENT)
        elif not mentions and one.stated is None:
            placed.forgotten += 1
        else:
            entity = one.entity
            if len(mentions) < len(one.mentions):
                told = [said for _, said in mentions] + ([] if one.stated is None else [one.stated])
                entity = rewritten(entity, merge_statements(told), entity.updated_at)
            held[entity.id] = entity
            changes.append(PutEntity(entity, keys_of(entity), one.stated))
            changes += [PutMentions(id, (entity.id,), {entity.id: said}) for id, said in mentions]
            placed.added += 1
    return _counted(placed, changes, strict)


def restore_relations(things: Sequence[StoredRelation], *, strict: bool) -> Plan[Placed]:
    """Stores the relations that aren't there, where both of their entities are."""
    ids = tuple(one.relation.id for one in things)
    use, held = (yield from read(IdsInUse(ids))), dict((yield from read(RelationsById(ids))))
    there = yield from read(ThingsStored(_ids_of_sources(one.refs for one in things)))
    ends = tuple(dict.fromkeys(end for one in things for end in (one.relation.source, one.relation.target)))
    entities = yield from read(EntitiesById(ends))
    gone = (yield from read(IdsInUse(ends))).forgotten
    pairs = tuple(dict.fromkeys((one.relation.source, one.relation.type) for one in things))
    opened = {(one.source, one.type, one.target) for one in (yield from read(OpenRelations(pairs)))}
    placed, changes = Placed(), list[Change]()
    for index, one in enumerate(things):
        relation, refs = one.relation, [(id, said) for id, said in one.refs if id in there]
        triple = (relation.source, relation.type, relation.target)
        both = {relation.source, relation.target}
        if relation.id in use.forgotten or both & gone:
            placed.forgotten += 1
        elif relation.id in use.elsewhere:
            placed.clash(index, TAKEN_ID)
        elif (known := held.get(relation.id)) is not None:
            if (known.source, known.type, known.target) == triple:
                placed.known += 1
            else:
                placed.clash(index, OTHER_CONTENT)
        elif not refs and one.stated is None:
            placed.forgotten += 1
        elif not both <= entities.keys():
            placed.clash(index, "one of its entities isn't stored here")
        elif relation.valid_to is None and triple in opened:
            placed.clash(index, "another relation says the same")
        else:
            if len(refs) < len(one.refs):
                told = merge_statements([said for _, said in refs] + ([] if one.stated is None else [one.stated]))
                relation = replace(relation, properties=told.properties, sensitivity=told.sensitivity)
            held[relation.id] = relation
            if relation.valid_to is None:
                opened.add(triple)
            changes.append(PutRelation(replace(relation, refs=()), stated=one.stated, ended_by=one.ended_by))
            changes += [PutRelation(replace(relation, refs=(id,)), said, ended_by=one.ended_by) for id, said in refs]
            placed.added += 1
    return _counted(placed, changes, strict)


def restore_patterns(things: Sequence[StoredPattern], *, strict: bool) -> Plan[Placed]:
    """Stores the patterns that aren't there. One of whose sources isn't stored here counts as forgotten."""
    use = yield from read(IdsInUse(tuple(one.pattern.id for one in things)))
    there = yield from read(ThingsStored(tuple(dict.fromkeys(ref for one in things for ref in one.refs))))
    placed, changes, seen = Placed(), list[Change](), set[str]()
    for index, one in enumerate(things):
        id = one.pattern.id
        if id in use.forgotten or not there.issuperset(one.refs):
            placed.forgotten += 1
        elif id in use.elsewhere:
            placed.clash(index, TAKEN_ID)
        elif id in seen or (yield from read(PatternById(id))) is not None:
            placed.known += 1
        else:
            seen.add(id)
            changes.append(PutPattern(one.pattern, one.refs))
            placed.added += 1
    return _counted(placed, changes, strict)


def _ids_of_sources(sources: Iterable[Sources]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for these in sources for id, _ in these))


def _counted(placed: Placed, changes: list[Change], strict: bool) -> Decision[Placed]:
    added = placed.added
    decision = decided(placed, changes, strict)
    placed.added = added if decision.changes else 0
    return decision
