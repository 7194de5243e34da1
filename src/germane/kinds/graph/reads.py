"""Graph reads: what a store answers and changes about entities, relations and patterns.

Every store supports these reads and changes, within the scope that a plan is committed under: reads see the part of the
scope's own user (agent-wide if it has no user), and changes write to it. Relations connect entities of one owner only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from germane.kinds.graph.statement import EntityStatement
from germane.kinds.graph.value import Entity, EntityPage, Neighbourhood, Pattern, Relation, Step
from germane.types.plan import Change, Read, TextOf
from germane.types.query import EVERY_SENSITIVITY, Filters


@dataclass(frozen=True, slots=True)
class EntitiesNamed(Read[Mapping[str, tuple[Entity, ...]]]):
    """The scope's own entities that have one of these keys (`kinds/graph/aliases.py`) as their name's or an alias's, by key."""

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


# What follows sees what is agent-wide as well as what is the scope's user's own, and obeys the sensitivities of `filters`,
# their `entity_types` and `exclude` where it takes them. Where both parts know a name, both entities are found.


@dataclass(frozen=True, slots=True)
class SeenEntities(Read[tuple[Entity, ...]]):
    """The entities with these ids, in this order; unknown ids are left out."""

    quick: ClassVar[bool] = True
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class SeenNamed(Read[tuple[Entity, ...]]):
    """The entities that have one of these name keys, by the order of the keys, at most `limit`."""

    quick: ClassVar[bool] = True
    keys: Sequence[str]
    filters: Filters
    limit: int = 50


@dataclass(frozen=True, slots=True)
class SalientEntities(Read[tuple[Entity, ...]]):
    """The `limit` entities of the highest salience at a time, the highest first; ties by id."""

    quick: ClassVar[bool] = True
    limit: int
    at: datetime
    filters: Filters


@dataclass(frozen=True, slots=True)
class ListEntities(Read[EntityPage]):
    """A page of entities whose name key begins with `prefix`, by name. Raises `InvalidInput` for a limit below 1 and a bad
    cursor."""

    filters: Filters
    prefix: str = ""
    type: str | None = None
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class WalkFrom(Read[Neighbourhood]):
    """Relations in both directions, breadth first, from these entities (ids): at most `depth` steps (0 to 10), and at most
    `fan_out` relations of one entity, the heaviest first (weight × confidence, then id). Cycles and self-relations are walked
    once. `at` leaves out what doesn't hold at that time; None walks everything. At most `limit` relations. Raises
    `InvalidInput` for other bounds."""

    quick: ClassVar[bool] = True
    starts: Sequence[str]
    depth: int
    fan_out: int
    at: datetime | None
    filters: Filters
    limit: int = 200


@dataclass(frozen=True, slots=True)
class ShortestPath(Read[tuple[Step, ...] | None]):
    """A shortest path in both directions, of at most 10 steps; () where both are one; None without a path."""

    start: str
    goal: str
    at: datetime | None
    filters: Filters


@dataclass(frozen=True, slots=True)
class CausalChain(Read[tuple[Relation, ...]]):
    """The causal chain from an entity: relations of these types followed in one direction only, nearest first. Without
    `filters`, those of every sensitivity."""

    quick: ClassVar[bool] = True
    start: str
    types: Sequence[str]
    backwards: bool
    limit: int = 50
    at: datetime | None = None
    filters: Filters = EVERY_SENSITIVITY


@dataclass(frozen=True, slots=True)
class RelationsOf(Read[tuple[Relation, ...]]):
    """The relations of one entity, in both directions, the heaviest first. Without `filters` of every sensitivity."""

    quick: ClassVar[bool] = True
    entity: str
    at: datetime | None
    limit: int = 100
    filters: Filters = EVERY_SENSITIVITY


@dataclass(frozen=True, slots=True)
class MentionsOf(Read[tuple[str, ...]]):
    """Ids of the events and memories that mention an entity, the latest first."""

    quick: ClassVar[bool] = True
    entity: str
    limit: int = 100
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class MentionedIn(Read[dict[str, tuple[str, ...]]]):
    """The entities (ids) that each of these events and memories mentions."""

    quick: ClassVar[bool] = True
    things: Sequence[str]


@dataclass(frozen=True, slots=True)
class MatchingPatterns(Read[tuple[Pattern, ...]]):
    """The patterns that apply: all that a pattern says of keywords (one of them among the folded `words`), intent and entity
    types (one of them) must match. The best success rate first, ties by id."""

    quick: ClassVar[bool] = True
    words: Sequence[str]
    intent: str | None
    entity_types: Sequence[str]
    filters: Filters
    limit: int = 20


# Changes.


@dataclass(frozen=True, slots=True)
class PutEntity(Change):
    """Stores an entity, or replaces the one with its id but for its number of mentions, which the store counts. `keys` are
    those of its name and its aliases. `stated` is what was said of it on purpose, in addition to what was so before: an entity
    of which nothing was goes with its last mention."""

    text_of: ClassVar[TextOf] = "its_owner"
    entity: Entity
    keys: tuple[str, ...]
    stated: EntityStatement | None = None


@dataclass(frozen=True, slots=True)
class PutRelation(Change):
    """Stores a relation, or replaces the one with its id. Its `refs` are added to those it has; each of them says
    `said` of it. `stated` is what was said of it on purpose: a relation of which nothing was goes with its last ref."""

    text_of: ClassVar[TextOf] = "its_owner"
    relation: Relation
    said: EntityStatement = EntityStatement()
    stated: EntityStatement | None = None
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
    said: Mapping[str, EntityStatement] = field(default_factory=dict, hash=False)
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
