"""Graph item: an entity, a relation or a pattern as a candidate for the context, whatever keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

__all__ = ["EntityText", "GraphItem", "PatternText", "RelationText"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityText:
    """An entity as it is shown. `properties` are names with values, in the order in which they are written."""

    type: str
    name: str
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationText:
    """A relation as it is shown: `source` and `target` are names. `valid_to` is set where it has ended, or will."""

    source: str
    type: str
    target: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternText:
    """A pattern as it is shown: `action` is what to do; it worked `successes` times of `applications`."""

    action: str
    successes: int = 0
    applications: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphItem:
    """What a candidate of the graph has besides a text. `prior` is P(relevant) by what the graph says, in [0, 1): it is
    combined with what the evidence says by noisy-or. `salience`, in [0, 1], stands for usefulness, which no feedback tells of
    such an item (SCORE-4)."""

    shown: EntityText | RelationText | PatternText
    prior: float
    salience: float
