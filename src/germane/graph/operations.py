"""Graph operations: the reads and changes of plans about entities, relations and patterns, which every store must support.

A store runs them within the scope that the plan is committed under: reads see the scope's own user's part (agent-wide where it
has no user), and changes write to it. Relations connect entities of one owner only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from germane.graph.entity import Entity
from germane.graph.pattern import Pattern
from germane.graph.relation import Relation
from germane.graph.said import Said
from germane.types.plan import Change, Read, TextOf

__all__ = [
    "CountPattern",
    "EndRelation",
    "EntitiesById",
    "EntitiesNamed",
    "GraphStored",
    "MergeEntities",
    "OpenRelations",
    "PatternById",
    "PatternsWithAction",
    "PutEntity",
    "PutMentions",
    "PutPattern",
    "PutRelation",
    "RelationsById",
    "ThingsStored",
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
    """The relations of these (source, type) pairs that have no end, by the time since when they hold; `with_ended` those that
    ended as well, of each pair the latest 100. `targets` leaves out those to other entities; empty: none is left out."""

    pairs: tuple[tuple[str, str], ...]
    with_ended: bool = False
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PatternById(Read[Pattern | None]):
    """The scope's own pattern with this id."""

    id: str


@dataclass(frozen=True, slots=True)
class PatternsWithAction(Read[tuple[Pattern, ...]]):
    """The scope's own patterns with this action."""

    action: str


@dataclass(frozen=True, slots=True)
class ThingsStored(Read[frozenset[str]]):
    """Those of these ids that are the scope's own messages, memories or archival entries."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphStored(Read[frozenset[str]]):
    """Those of these ids that are the scope's own entities, relations or patterns."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutEntity(Change):
    """Stores an entity, or replaces the one with its id but for its number of mentions, which the store counts. `keys` are
    those of its name and its aliases. `stated` is what was said of it on purpose, in addition to what was so before: an entity
    of which nothing was goes with its last mention."""

    text_of: ClassVar[TextOf] = "its_owner"
    entity: Entity
    keys: tuple[str, ...]
    stated: Said | None = None


@dataclass(frozen=True, slots=True)
class PutRelation(Change):
    """Stores a relation, or replaces the one with its id. Its `refs` are added to those it has; each of them says
    `said` of it. `stated` is what was said of it on purpose: a relation of which nothing was goes with its last ref."""

    text_of: ClassVar[TextOf] = "its_owner"
    relation: Relation
    said: Said = Said()
    stated: Said | None = None
    ended_by: str | None = None
    """The id of the relation that took its place, where it is stored with an end."""


@dataclass(frozen=True, slots=True)
class EndRelation(Change):
    """Sets the end of a relation that has none. `ended_by` is the relation that takes its place: where that is forgotten, this
    one has no end again."""

    text_of: ClassVar[TextOf] = "nothing"
    id: str
    at: datetime
    ended_by: str | None = None


@dataclass(frozen=True, slots=True)
class PutMentions(Change):
    """Notes that an event or memory (`thing`, its id) mentions these entities (ids). Idempotent. What is forgotten loses its
    mentions, and an entity that nothing mentions any more, and that nobody stored on purpose, goes with its last mention."""

    text_of: ClassVar[TextOf] = "its_owner"
    thing: str
    entities: tuple[str, ...]
    said: Mapping[str, Said] = field(default_factory=dict, hash=False)
    """What it says of them, by id."""


@dataclass(frozen=True, slots=True)
class MergeEntities(Change):
    """Moves aliases, mentions and relations of the entity `gone` to `kept`, and removes `gone`."""

    text_of: ClassVar[TextOf] = "nothing"
    kept: str
    gone: str


@dataclass(frozen=True, slots=True)
class PutPattern(Change):
    """Stores a pattern, or replaces the one with its id. `refs` are the ids of the events and memories that it was learned
    from, in addition to those it has: it is forgotten with any of them."""

    text_of: ClassVar[TextOf] = "its_owner"
    pattern: Pattern
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CountPattern(Change):
    """Counts one application of a pattern, and its success."""

    text_of: ClassVar[TextOf] = "nothing"
    id: str
    succeeded: bool
    at: datetime
