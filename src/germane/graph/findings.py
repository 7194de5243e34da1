"""Findings: what an extractor found in one event or memory: entities, and how they relate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

__all__ = ["EntityFinding", "EntityName", "RelationFinding"]


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
