"""Graph as values: entities, relations and patterns, and what is found of them in texts.

An entity is somebody or something that events and memories are about: a person, a place, a file, a ticket. A relation
says how one entity stands to another, since when and until when. A pattern is an action that was tried in a kind of
situation, and how often it worked. A finding is what an extractor found in one event or memory; it isn't stored yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from germane.text.normal import content_hash
from germane.types.candidate import Sensitivity

SALIENCE_HALF_LIFE = 30.0
"""Days in which the salience of an entity that isn't mentioned falls to a half."""
_STEP = 0.1
"""The part of what is missing to 1 that a mention adds to the salience."""
_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """`type` is a word such as `person`, `organisation`, `place`, `file`, `symbol`, `url`, `error`, `tool`, `ticket`, or any
    other. `name` is as it was written first; `aliases` are its other names. An entity is identified within its owner by
    its type and name key, or the key of an alias (`kinds/graph/aliases.py`). `salience`, in [0, 1], is that of `salient_at`; it
    decays with a half-life of 30 days and grows with each mention. `user` None stands for agent-wide."""

    id: str
    type: str
    name: str
    user: str | None = None
    aliases: tuple[str, ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    salience: float = _STEP
    salient_at: datetime
    mentions: int = 1
    """How many events and memories mention it."""
    sensitivity: Sensitivity = "private"
    created_at: datetime
    updated_at: datetime

    def without_content(self) -> Entity:
        """Returns the entity as a caller gets it who may not read: without type, names and properties."""
        return replace(self, type="", name="", aliases=(), properties={})

    def salience_at(self, at: datetime) -> float:
        """Returns the salience at a time, in [0, 1]: `salience · 0.5^(days since salient_at / 30)`; a time before `salient_at`
        counts as `salient_at`."""
        days = max(0.0, (at - self.salient_at).total_seconds() / _DAY)
        return float(self.salience * 0.5 ** (days / SALIENCE_HALF_LIFE))

    def __repr__(self) -> str:
        return f"<Entity {self.id} {self.type} mentions={self.mentions}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPage:
    """One page of a listing of entities. `cursor` continues the listing; None on the last page."""

    entities: tuple[Entity, ...]
    cursor: str | None = None


def used(salience: float) -> float:
    """Returns the salience after one more mention: a tenth of what is missing to 1 is added."""
    return min(1.0, salience + (1.0 - salience) * _STEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """`source` and `target` are ids of entities of one owner, and may be the same. `type` is a word such as `works_at`.
    `weight` and `confidence` are in [0, 1]. It holds from `valid_from` (inclusive) until `valid_to` (exclusive; None: still).
    `refs` are the ids of the events and memories that state it, the latest 100. At most one relation of a source,
    type and target is open."""

    id: str
    source: str
    type: str
    target: str
    user: str | None = None
    weight: float = 1.0
    confidence: float = 0.8
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    valid_from: datetime
    valid_to: datetime | None = None
    refs: tuple[str, ...] = ()
    sensitivity: Sensitivity = "private"
    """That of the least sensitive text that states it."""
    created_at: datetime
    updated_at: datetime

    def without_content(self) -> Relation:
        """Returns the relation as a caller gets it who may not read: without type, properties and refs."""
        return replace(self, type="", properties={}, refs=())

    def __repr__(self) -> str:
        return f"<Relation {self.id} {self.source} {self.type} {self.target}>"


class Step(NamedTuple):
    """One relation of a path, as it was walked: from one entity to another, along the relation or against it."""

    relation: Relation
    backwards: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What a traversal found. `depths` has the steps from the nearest start to each entity, 0 for the starts themselves;
    `relations` stand in the order in which they were reached. `capped` says that an entity has more relations than the
    fan-out cap, or all of them more than the limit, so that some weren't followed."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    depths: Mapping[str, int] = field(default_factory=dict, hash=False)
    capped: bool = False


def valid(relation: Relation, at: datetime | None) -> bool:
    """Whether the relation holds at a time; None accepts all, also those that ended."""
    return at is None or (relation.valid_from <= at and (relation.valid_to is None or at < relation.valid_to))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """`keywords`, `intent` and `entity_types` say when the pattern applies: those that are given must match the request.
    `action` is what to do. `applications` counts how often it was tried, `successes` how often that worked."""

    id: str
    action: str
    keywords: tuple[str, ...] = ()
    intent: str | None = None
    entity_types: tuple[str, ...] = ()
    user: str | None = None
    successes: int = 0
    applications: int = 0
    sensitivity: Sensitivity = "private"
    created_at: datetime
    updated_at: datetime

    def without_content(self) -> Pattern:
        """Returns the pattern as a caller gets it who may not read: without the action and when it applies."""
        return replace(self, action="", keywords=(), intent=None, entity_types=())

    @property
    def success_rate(self) -> float:
        """(successes + 1) / (applications + 2), in (0, 1): a pattern that was never tried has 0.5 (SCORE-4)."""
        return (self.successes + 1) / (self.applications + 2)

    def __repr__(self) -> str:
        return f"<Pattern {self.id} {self.successes}/{self.applications}>"


# Findings: what a plan stores. An extractor makes them of one event or memory.


class EntityName(NamedTuple):
    """How a relation names an entity that was found beside it: by its type and any of its names."""

    type: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFinding:
    """An entity that a text mentions: `name` as it is written there, and what the text says of it. One whose `confidence`, in
    [0, 1], is below 0.7 is stored only where the entity is known already."""

    type: str
    name: str
    aliases: tuple[str, ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationFinding:
    """A relation that a text states. `valid_from` None stands for the time of the text. An `exclusive` one holds to one target
    at a time, as `lives_at` does: it ends the relation of its source and type that held before."""

    source: EntityName
    type: str
    target: EntityName
    weight: float = 1.0
    confidence: float = 0.8
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    exclusive: bool = False


# What the rules and a language model find in a text, with the places where it stands there.


ENTITY_TYPES = ("person", "organisation", "place", "date", "file", "symbol", "url", "error", "tool", "ticket", "commit")
"""The types of entities that the rules find."""
MAX_FOUND = 64
"""Entities, and relations, of one text."""


class FoundEntity(NamedTuple):
    """`name` is `text[start:end]`, without titles and possessive endings; of the text's speaker it is the speaker's name, and
    both are 0. `confidence` is in (0, 1]."""

    type: str
    name: str
    start: int
    end: int
    confidence: float


class FoundRelation(NamedTuple):
    """`since` and `until` are the words of the text that say from when to when it holds; empty where it says nothing.
    `confidence` is in (0, 1]. An `exclusive` relation holds to one target at a time, as `lives_in` does."""

    source: FoundEntity
    type: str
    target: FoundEntity
    confidence: float
    since: str = ""
    until: str = ""
    exclusive: bool = False


# Hashes of what a prompt shows of an entity, a relation or a pattern, to tell whether it changed since (INJECT-6).


def entity_hash(type: str, name: str, properties: Mapping[str, Any]) -> int:
    """Returns a signed 64-bit hash; salience and mentions don't count."""
    return content_hash("entity", type, name, json.dumps(properties, sort_keys=True, default=str))


def relation_hash(source: str, type: str, target: str, ends: datetime | None) -> int:
    """Returns a signed 64-bit hash of the names of both entities, the type and the end; weight and confidence don't count."""
    return content_hash("relation", source, type, target, "" if ends is None else str(int(ends.timestamp() * 1_000_000)))


def pattern_hash(action: str) -> int:
    """Returns a signed 64-bit hash of the action; how often it worked doesn't count, so that a shown pattern may stay."""
    return content_hash("pattern", action)
