"""Blocking graph: the blocking twin of `kinds/graph/handle.py`, at `agent.graph` of `germane.sync`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from germane.api.workers.threads import Loop
    from germane.kinds.graph import handle as agent_graph
    from germane.kinds.graph.value import Entity, EntityPage, Neighbourhood, Pattern, Relation, Step
    from germane.kinds.memories.value import Receipt
    from germane.types.candidate import Sensitivity
    from germane.types.query import Filters


class KnownGraph:
    """As `germane.kinds.graph.handle.KnownGraph`."""

    def __init__(self, awaited: agent_graph.KnownGraph, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call
        self.patterns = Patterns(awaited.patterns, loop)

    def __repr__(self) -> str:
        return repr(self._awaited)

    def add(
        self,
        type: str,
        name: str,
        *,
        aliases: Iterable[str] = (),
        properties: Mapping[str, Any] | None = None,
        sensitivity: Sensitivity = "private",
    ) -> Entity:
        return self._call(self._awaited.add, type, name, aliases=aliases, properties=properties, sensitivity=sensitivity)

    def get(self, id: str) -> Entity:
        return self._call(self._awaited.get, id)

    def find(self, name: str, type: str | None = None) -> tuple[Entity, ...]:
        return self._call(self._awaited.find, name, type)

    def list(
        self,
        type: str | None = None,
        *,
        prefix: str = "",
        limit: int = 50,
        cursor: str | None = None,
        filters: Filters | None = None,
    ) -> EntityPage:
        return self._call(self._awaited.list, type, prefix=prefix, limit=limit, cursor=cursor, filters=filters)

    def salient(self, limit: int = 10, *, at: datetime | str | None = None) -> tuple[Entity, ...]:
        return self._call(self._awaited.salient, limit, at=at)

    def relate(
        self,
        source: str,
        type: str,
        target: str,
        *,
        weight: float = 1.0,
        confidence: float = 0.8,
        properties: Mapping[str, Any] | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        exclusive: bool = False,
        sensitivity: Sensitivity = "private",
    ) -> Relation:
        return self._call(
            self._awaited.relate,
            source,
            type,
            target,
            weight=weight,
            confidence=confidence,
            properties=properties,
            valid_from=valid_from,
            valid_to=valid_to,
            exclusive=exclusive,
            sensitivity=sensitivity,
        )

    def unrelate(self, id: str, at: datetime | str | None = None) -> Relation:
        return self._call(self._awaited.unrelate, id, at)

    def relations(self, entity: str, *, at: datetime | str | None = None, limit: int = 100) -> tuple[Relation, ...]:
        return self._call(self._awaited.relations, entity, at=at, limit=limit)

    def mentions(self, entity: str, *, limit: int = 100, before: datetime | str | None = None) -> tuple[str, ...]:
        return self._call(self._awaited.mentions, entity, limit=limit, before=before)

    def traverse(
        self, start: str, *, depth: int = 2, fan_out: int = 20, at: datetime | str | None = None, limit: int = 200
    ) -> Neighbourhood:
        return self._call(self._awaited.traverse, start, depth=depth, fan_out=fan_out, at=at, limit=limit)

    def path(self, start: str, goal: str, *, at: datetime | str | None = None) -> tuple[Step, ...] | None:
        return self._call(self._awaited.path, start, goal, at=at)

    def chain(
        self, start: str, types: Iterable[str] = ("causes", "fixes"), *, backwards: bool = False, limit: int = 50
    ) -> tuple[Relation, ...]:
        return self._call(self._awaited.chain, start, types, backwards=backwards, limit=limit)

    def merge(self, kept: str, gone: str) -> Entity:
        return self._call(self._awaited.merge, kept, gone)

    def forget(self, ids: Sequence[str], *, dry_run: bool = False, by: str = "", reason: str = "") -> Receipt:
        return self._call(self._awaited.forget, ids, dry_run=dry_run, by=by, reason=reason)


class Patterns:
    """As `germane.kinds.graph.handle.Patterns`."""

    def __init__(self, awaited: agent_graph.Patterns, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def __repr__(self) -> str:
        return repr(self._awaited)

    def learn(
        self,
        action: str,
        *,
        keywords: Iterable[str] = (),
        intent: str | None = None,
        entity_types: Iterable[str] = (),
        sensitivity: Sensitivity = "private",
    ) -> Pattern:
        return self._call(
            self._awaited.learn, action, keywords=keywords, intent=intent, entity_types=entity_types, sensitivity=sensitivity
        )

    def match(
        self, query: str = "", *, intent: str | None = None, entity_types: Iterable[str] = (), limit: int = 20
    ) -> tuple[Pattern, ...]:
        return self._call(self._awaited.match, query, intent=intent, entity_types=entity_types, limit=limit)

    def apply_result(self, id: str, succeeded: bool) -> Pattern:
        return self._call(self._awaited.apply_result, id, succeeded)
