"""Graph formats: how entities, relations and patterns stand in the lines of an export, each with who said what of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.graph.aliases import name_key
from germane.kinds.graph.statement import MAX_ALIASES, MAX_PROPERTIES, EntityStatement
from germane.kinds.graph.value import Entity, Pattern, Relation
from germane.kinds.memories.fields import json_value
from germane.transfer.contents import StoredEntity, StoredPattern, StoredRelation
from germane.transfer.line_format import As, LineFormat, one_object, pairs, strings, text
from germane.types.checks import check_text
from germane.types.limits import ID, NAME, NAMES, REMARK, TAG, Limit

_MAX_SOURCES = 1_000_000


def _properties(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or len(value) > MAX_PROPERTIES or not all(isinstance(key, str) for key in value):
        raise InvalidInput(f"must be an object of at most {MAX_PROPERTIES} entries", path=name)
    found: Mapping[str, Any] = json_value(name, dict(value))
    return found


def _strings_as(limit: Limit) -> As:
    return As(read=strings(NAMES, limit))


def _names_said(name: str, value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = strings(NAMES, NAME)(name, value)
    if len(names) > MAX_ALIASES + 1 or not all(map(name_key, names)):
        raise InvalidInput(f"must be at most {MAX_ALIASES + 1} names that can be looked up", path=name)
    return names


_PROPERTIES = As(read=_properties)
_SAID = LineFormat(EntityStatement, "what was said", fields={"names": As(read=_names_said), "properties": _PROPERTIES})
_STATED = one_object(_SAID, or_null=True)


def _said(_: str, value: Any) -> EntityStatement:
    return EntityStatement() if value is None else _SAID.read(value)


_read_sources = pairs(text(ID, empty=True), _said, _MAX_SOURCES)
_SOURCES = As(
    read=lambda name, value: tuple(dict(_read_sources(name, value)).items()),
    write=lambda sources: [[id, _SAID.write(said)] for id, said in sources],
)


def _complete_graph(thing: dict[str, Any]) -> None:
    thing.setdefault("updated_at", thing["created_at"])


def _complete_entity(entity: dict[str, Any]) -> None:
    _complete_graph(entity)
    if not name_key(entity["name"]):
        raise InvalidInput("has no character that can be looked up", path="name")


_ENTITY = LineFormat(
    Entity,
    "an entity",
    fields={"type": As(name="entity_type", limit=TAG), "aliases": _strings_as(NAME), "properties": _PROPERTIES},
    outside={"mentions": 0},
    owned=("user",),
    needed=("salience",),
    derived=("updated_at",),
    complete=_complete_entity,
)
ENTITY = LineFormat(StoredEntity, "an entity", fields={"stated": _STATED, "mentions": _SOURCES}, beside={"entity": _ENTITY})
_RELATION = LineFormat(
    Relation,
    "a relation",
    fields={"type": As(name="relation_type", limit=TAG), "properties": _PROPERTIES},
    owned=("user",),
    left_out=("refs",),
    derived=("updated_at",),
    complete=_complete_graph,
)
RELATION = LineFormat(
    StoredRelation,
    "a relation",
    fields={"stated": _STATED, "refs": _SOURCES},
    beside={"relation": _RELATION},
    order="id source relation_type target weight confidence properties valid_from valid_to ended_by",
)
_PATTERN = LineFormat(
    Pattern,
    "a pattern",
    fields={
        "action": As(limit=REMARK),
        "keywords": _strings_as(TAG),
        "intent": As(read=lambda name, value: None if value is None else check_text(name, value, TAG)),
        "entity_types": _strings_as(TAG),
    },
    owned=("user",),
    derived=("updated_at",),
    complete=_complete_graph,
)
PATTERN = LineFormat(StoredPattern, "a pattern", fields={"refs": _strings_as(ID)}, beside={"pattern": _PATTERN})
