"""Graph line: writes entities, relations and patterns of an export as JSON objects, and reads them back with a check of every
field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.errors import InvalidInput
from germane.graph.aliases import name_key
from germane.graph.entity import Entity
from germane.graph.pattern import Pattern
from germane.graph.relation import Relation
from germane.graph.said import MAX_ALIASES, MAX_PROPERTIES, Said
from germane.memories.checks import json_value, share
from germane.transfer.line_fields import LineFields, written_time
from germane.transfer.stored import Owner
from germane.transfer.stored_graph import Sources, StoredEntity, StoredPattern, StoredRelation
from germane.types.limits import ID, NAME, NAMES, REMARK, TAG, entries
from germane.types.limits import text as string

__all__ = ["graph_line", "parsed_entity", "parsed_pattern", "parsed_relation"]

_SOURCES = 1_000_000


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
    aliases = entries("aliases", given.take("aliases", ()), NAMES, NAME)
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
        keywords=entries("keywords", given.take("keywords", ()), NAMES, TAG),
        intent=None if intent is None else string("intent", intent, TAG),
        entity_types=entries("entity_types", given.take("entity_types", ()), NAMES, TAG),
        user=owner.user,
        successes=given.count("successes", 0),
        applications=given.count("applications", 0),
        **_ending(given),
    )
    refs = entries("refs", given.take("refs", ()), NAMES, ID)
    given.end()
    return StoredPattern(pattern=pattern, refs=refs)


def _ended(thing: Entity | Relation | Pattern) -> dict[str, Any]:
    times = {name: getattr(thing, name).isoformat() for name in ("created_at", "updated_at")}
    return {"sensitivity": thing.sensitivity, **times}


def _said(said: Said | None) -> dict[str, Any] | None:
    if said is None:
        return None
    return {"names": list(said.names), "properties": dict(said.properties), "sensitivity": said.sensitivity}


def _parsed(value: Any) -> Said | None:
    if value is None:
        return None
    given = LineFields(value, "what was said")
    names = entries("names", given.take("names", ()), NAMES, NAME)
    if len(names) > MAX_ALIASES + 1 or not all(map(name_key, names)):
        raise InvalidInput(f"names must be at most {MAX_ALIASES + 1} names that can be looked up")
    said = Said(names=names, properties=_properties(given.take("properties", {})), sensitivity=given.sensitivity())
    given.end()
    return said


def _sources(value: Any) -> Sources:
    if not isinstance(value, list | tuple) or len(value) > _SOURCES:
        raise InvalidInput(f"mentions and refs must be lists of at most {_SOURCES:,} pairs")
    found = dict[str, Said]()
    for pair in value:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InvalidInput("a mention, or a ref, is a pair: an id, and what is said there")
        found[string("an id", pair[0], ID)] = _parsed(pair[1]) or Said()
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
