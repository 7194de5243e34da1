"""Graph stub: a small graph in memory that answers as a reader of the graph does, and counts what it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from germane.kinds.graph.value import Entity, Neighbourhood, Pattern, Relation
from germane.text.normal import fold
from germane.types.query import Filters
from germane_testing.builders import MOMENT

__all__ = ["GraphStub", "a_pattern", "a_relation", "an_entity"]

_BEFORE = MOMENT - timedelta(days=60)


def an_entity(name: str = "Caroline", type: str = "person", **fields: Any) -> Entity:
    """An entity with the id `e-` and its name, last used a minute before the moment of the tests."""
    given: dict[str, Any] = {
        "id": f"e-{name}",
        "salience": 0.4,
        "salient_at": MOMENT,
        "created_at": _BEFORE,
        "updated_at": _BEFORE,
    }
    return Entity(type=type, name=name, **given | fields)


def a_relation(source: str, type: str, target: str, **fields: Any) -> Relation:
    """A relation between entities with these names."""
    given: dict[str, Any] = {
        "id": f"{source}-{type}-{target}",
        "valid_from": _BEFORE,
        "created_at": _BEFORE,
        "updated_at": _BEFORE,
    }
    return Relation(source=f"e-{source}", type=type, target=f"e-{target}", **given | fields)


def a_pattern(action: str = "run the tests again", **fields: Any) -> Pattern:
    given: dict[str, Any] = {"id": f"p-{action}", "created_at": _BEFORE, "updated_at": _BEFORE}
    return Pattern(action=action, **given | fields)


@dataclass
class GraphStub:
    """`asked` holds the names of the calls in order, and the arguments of the last one of each name."""

    known: Sequence[Entity] = ()
    around: Sequence[tuple[int, Relation]] = ()
    """Relations with the depth of their nearest end."""
    applying: Sequence[Pattern] = ()
    error: Exception | None = None
    calls: list[str] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)

    async def named(self, keys: Sequence[str], *, filters: Filters, limit: int = 50) -> tuple[Entity, ...]:
        self._note("named", keys=keys, filters=filters, limit=limit)
        names = {" ".join(fold(name).split()): one for one in self.known for name in (one.name, *one.aliases)}
        return tuple(names[key] for key in keys if key in names)

    async def salient(self, limit: int, *, at: datetime, filters: Filters) -> tuple[Entity, ...]:
        self._note("salient", limit=limit, at=at, filters=filters)
        return tuple(sorted(self.known, key=lambda one: (-one.salience_at(at), one.id)))[:limit]

    async def neighbourhood(self, starts: Sequence[str], **how: Any) -> Neighbourhood:
        self._note("neighbourhood", starts=starts, **how)
        depths: dict[str, int] = {}
        for depth, relation in self.around:
            depths.setdefault(relation.source, depth)
            depths.setdefault(relation.target, depth + 1)
        return Neighbourhood(entities=tuple(self.known), relations=tuple(each for _, each in self.around), depths=depths)

    async def patterns(self, words: Sequence[str], **how: Any) -> tuple[Pattern, ...]:
        self._note("patterns", words=words, **how)
        return tuple(self.applying)

    def _note(self, name: str, **arguments: Any) -> None:
        self.calls.append(name)
        self.asked[name] = arguments
        if self.error is not None:
            raise self.error
