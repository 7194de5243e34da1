"""Entity: somebody or something that events and memories are about: a person, a place, a file, a ticket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.types.candidate import Sensitivity

__all__ = ["SALIENCE_HALF_LIFE", "Entity", "EntityPage", "used"]

SALIENCE_HALF_LIFE = 30.0
"""Days in which the salience of an entity that isn't mentioned falls to a half."""
_STEP = 0.1
"""The part of what is missing to 1 that a mention adds to the salience."""
_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """`type` is a word such as `person`, `organisation`, `place`, `file`, `symbol`, `url`, `error`, `tool`, `ticket`, or any
    other. `name` is as it was written first; `aliases` are its other names. An entity is identified within its owner by
    its type and name key, or the key of an alias (`graph/aliases.py`). `salience`, in [0, 1], is that of `salient_at`; it
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
