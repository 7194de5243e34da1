"""Reader: the protocol for reading the entities, relations and patterns that one scope sees."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from germane.graph.entity import Entity, EntityPage
from germane.graph.pattern import Pattern
from germane.graph.relation import Neighbourhood, Relation, Step
from germane.types.query import Filters

__all__ = ["GraphReader"]


class GraphReader(Protocol):
    """Every method sees what is agent-wide and what is the scope's user's own, and obeys the sensitivities of `filters`, their
    `entity_types` and `exclude` where it takes them. Where both parts know a name, both entities are found."""

    async def entities(self, ids: Sequence[str]) -> tuple[Entity, ...]:
        """Returns the entities with these ids, in this order; unknown ids are left out."""

    async def named(self, keys: Sequence[str], *, filters: Filters, limit: int = 50) -> tuple[Entity, ...]:
        """Returns the entities that have one of these name keys, by the order of the keys, at most `limit`."""

    async def salient(self, limit: int, *, at: datetime, filters: Filters) -> tuple[Entity, ...]:
        """Returns the `limit` entities of the highest salience at a time, the highest first; ties by id."""

    async def page(
        self, filters: Filters, *, prefix: str = "", type: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> EntityPage:
        """Returns a page of entities whose name key begins with `prefix`, by name. Raises `InvalidInput` for a bad cursor."""

    async def neighbourhood(
        self, starts: Sequence[str], *, depth: int, fan_out: int, at: datetime | None, filters: Filters, limit: int = 200
    ) -> Neighbourhood:
        """Walks relations in both directions, breadth first, from these entities (ids): at most `depth` steps (0 to 10), and at
        most `fan_out` relations of one entity, the heaviest first (weight × confidence, then id). Cycles and self-relations are
        walked once. `at` leaves out what doesn't hold at that time; None walks everything. At most `limit` relations."""

    async def path(self, start: str, goal: str, *, at: datetime | None, filters: Filters) -> tuple[Step, ...] | None:
        """Returns a shortest path in both directions, of at most 10 steps; () where both are one; None without a path."""

    async def chain(
        self,
        start: str,
        types: Sequence[str],
        *,
        backwards: bool,
        limit: int = 50,
        at: datetime | None = None,
        filters: Filters = ...,
    ) -> tuple[Relation, ...]:
        """Returns the causal chain from an entity: relations of these types followed in one direction only, nearest first.
        Without `filters`, those of every sensitivity."""

    async def relations(
        self, entity: str, *, at: datetime | None, limit: int = 100, filters: Filters = ...
    ) -> tuple[Relation, ...]:
        """Returns the relations of one entity, in both directions, the heaviest first. Without `filters` of every
        sensitivity."""

    async def mentions(self, entity: str, *, limit: int = 100, before: datetime | None = None) -> tuple[str, ...]:
        """Returns ids of the events and memories that mention an entity, the latest first."""

    async def mentioned_in(self, things: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Returns the entities (ids) that each of these events and memories mentions."""

    async def patterns(
        self, words: Sequence[str], *, intent: str | None, entity_types: Sequence[str], filters: Filters, limit: int = 20
    ) -> tuple[Pattern, ...]:
        """Returns the patterns that apply: all that a pattern says of keywords (one of them among the folded `words`), intent
        and entity types (one of them) must match. The best success rate first, ties by id."""
