"""Statement: what one event or memory says of an entity, and what all statements make together.

What was stored of an entity on purpose is a statement too. An entity is the sum of its statements, so that a forgotten
text takes its part along: a nickname or a property that only one message knew goes with that message. The same holds
for a relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from germane.kinds.graph.aliases import index_keys, name_key
from germane.kinds.graph.value import Entity
from germane.types.candidate import SENSITIVITIES, Sensitivity

MAX_ALIASES = 50
"""Aliases of one entity; later ones aren't kept."""
MAX_PROPERTIES = 100
"""Properties of one entity or relation; later ones aren't kept."""
_MAX_KEYS = 256
"""Keys of one entity: those of its whole names, at most 102, always have room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityStatement:
    """`names` are the names that are used, as they are written, the main one first; `properties` what is told; `sensitivity`
    that of the text."""

    names: tuple[str, ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    sensitivity: Sensitivity = "private"


def merge_statements(parts: Iterable[EntityStatement]) -> EntityStatement:
    """Returns all parts as one: each name once (by its key), in the order of the parts; of properties of one name the last part
    counts. At most 51 names and 100 properties, the first ones. What only sensitive texts say doesn't count where other texts
    say anything; then the result is as sensitive as the most sensitive of those."""
    given = list(parts)
    told = [part for part in given if part.sensitivity != "sensitive"] or given
    names, properties = dict[str, str](), dict[str, Any]()
    for part in told:
        for name in part.names:
            if len(names) <= MAX_ALIASES:
                names.setdefault(name_key(name), name)
        for key, value in part.properties.items():
            if key in properties or len(properties) < MAX_PROPERTIES:
                properties[key] = value
    level = max((SENSITIVITIES.index(part.sensitivity) for part in told), default=1)
    return EntityStatement(names=tuple(names.values()), properties=properties, sensitivity=SENSITIVITIES[level])


def with_statement(entity: Entity, said: EntityStatement, at: datetime) -> Entity:
    """Returns the entity with what one more text says of it."""
    known = EntityStatement(names=(entity.name, *entity.aliases), properties=entity.properties, sensitivity=entity.sensitivity)
    return rewritten(entity, merge_statements((known, said)), at)


def rewritten(entity: Entity, said: EntityStatement, at: datetime) -> Entity:
    """Returns the entity as all that is said of it makes it. Its name stays the one it has, where that is still said."""
    spelt = dict[str, str]()
    for name in said.names:
        spelt.setdefault(name_key(name, entity.type), name)
    own = name_key(entity.name, entity.type)
    main = entity.name if own in spelt or not spelt else next(iter(spelt.values()))
    aliases = tuple(name for key, name in spelt.items() if key != name_key(main, entity.type))
    new = replace(entity, name=main, aliases=aliases, properties=said.properties, sensitivity=said.sensitivity)
    return entity if new == entity and new.properties == entity.properties else replace(new, updated_at=at)


def whole_keys(entity: Entity) -> tuple[str, ...]:
    """Returns the keys of the entity's name and aliases, as names of its type, each once."""
    return tuple(dict.fromkeys(key for name in (entity.name, *entity.aliases) if (key := name_key(name, entity.type))))


def keys_of(entity: Entity) -> tuple[str, ...]:
    """Returns the keys that the entity is found by, each once and at most 256: those of its name and aliases, as names of its
    type and of any type, then those of their short forms, which begin with `~`."""
    names = (entity.name, *entity.aliases)
    plain = (key for name in names if (key := name_key(name)))
    short = (key for name in names for key in index_keys(name, entity.type)[1:])
    return tuple(dict.fromkeys((*whole_keys(entity), *plain, *short)))[:_MAX_KEYS]
