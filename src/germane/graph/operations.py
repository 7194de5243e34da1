"""Graph operations: the reads and changes of plans about entities, relations and patterns, which every store must support.

A store runs them within the scope that the plan is committed under: reads see the scope's own user's part (agent-wide where it
has no user), and changes write to it. Relations connect entities of one owner only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from germane.graph.entity import Entity
from germane.graph.pattern import Pattern
from germane.graph.relation import Relation
from germane.types.plan import Change, Read

__all__ = [
    "CountPattern",
    "EndRelation",
    "EntitiesById",
    "EntitiesNamed",
    "MergeEntities",
    "OpenRelations",
    "PatternById",
    "PutEntity",
    "PutMentions",
    "PutPattern",
    "PutRelation",
    "RelationsById",
]


@dataclass(frozen=True, slots=True)
class EntitiesNamed(Read[Mapping[str, tuple[Entity, ...]]]):
    """The scope's own entities that have one of these keys (`graph/aliases.py`) as their name's or an alias's, by key."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntitiesById(Read[dict[str, Entity]]):
    """The scope's own entities with these ids, by id."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelationsById(Read[dict[str, Relation]]):
    """The scope's own relations with these ids, by id."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenRelations(Read[tuple[Relation, ...]]):
    """The relations of these (source, type) pairs that have no end, by the time they were made."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PatternById(Read[Pattern | None]):
    """The scope's own pattern with this id."""

    id: str


@dataclass(frozen=True, slots=True)
class PutEntity(Change):
    """Stores an entity, or replaces the one with its id. `keys` are those of its name and its aliases."""

    entity: Entity
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutRelation(Change):
    """Stores a relation, or replaces the one with its id."""

    relation: Relation


@dataclass(frozen=True, slots=True)
class EndRelation(Change):
    """Sets the end of a relation that has none."""

    id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PutMentions(Change):
    """Notes that an event or memory (`thing`, its id) mentions these entities (ids). Idempotent. What is forgotten loses its
    mentions, and an entity that nothing mentions any more, and that nobody stored on purpose, goes with its last mention."""

    thing: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergeEntities(Change):
    """Moves aliases, mentions and relations of the entity `gone` to `kept`, and removes `gone`."""

    kept: str
    gone: str


@dataclass(frozen=True, slots=True)
class PutPattern(Change):
    """Stores a pattern, or replaces the one with its id."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class CountPattern(Change):
    """Counts one application of a pattern, and its success."""

    id: str
    succeeded: bool
    at: datetime
