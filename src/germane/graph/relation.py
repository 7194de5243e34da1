"""Relation: how one entity stands to another, since when and until when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from germane.graph.entity import Entity
from germane.types.candidate import Sensitivity

__all__ = ["Neighbourhood", "Relation", "Step", "valid"]


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
