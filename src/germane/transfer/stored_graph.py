"""Stored graph: entities, relations and patterns as an export holds them: each with who said what of it."""

from __future__ import annotations

from dataclasses import dataclass

from germane.graph.entity import Entity
from germane.graph.pattern import Pattern
from germane.graph.relation import Relation
from germane.graph.said import Said

__all__ = ["StoredEntity", "StoredPattern", "StoredRelation"]

Sources = tuple[tuple[str, Said], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntity:
    """An entity, what was said of it on purpose (None: nothing), and what each thing (its id) that mentions it says of it."""

    entity: Entity
    stated: Said | None = None
    mentions: Sources = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelation:
    """A relation, what was said of it on purpose (None: nothing), what each of its refs says of it, and the relation that
    took its place."""

    relation: Relation
    stated: Said | None = None
    refs: Sources = ()
    ended_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPattern:
    """A pattern, and the ids of what it was learned from."""

    pattern: Pattern
    refs: tuple[str, ...] = ()
