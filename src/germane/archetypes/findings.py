"""Findings: what an extractor found in one event: entities, relations between them, and hints at what works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from germane.errors import InvalidInput
from germane.events.event import Event

__all__ = ["EntityFinding", "Extractor", "Findings", "Named", "PatternHint", "RelationFinding", "merged"]

_MAX_ENTITIES = _MAX_RELATIONS = 64
_MAX_HINTS = 4
"""Of one event; what an extractor finds beyond them is left out."""
_MAX_NAME, _MAX_TYPE, _MAX_ACTION = 256, 64, 1_000
"""Characters. What is longer names nothing, and is left out."""


class Named(NamedTuple):
    """An entity by its type and its name."""

    type: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFinding:
    """An entity that an event mentions. `properties` are merged into those that are known of it."""

    type: str
    name: str
    aliases: tuple[str, ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    confidence: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationFinding:
    """How one entity stands to another, by what an event says. Both are stored too. With `exclusive`, it ends other relations
    of the same source and type: one customer has one plan."""

    source: Named
    type: str
    target: Named
    weight: float = 1.0
    confidence: float = 0.8
    exclusive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternHint:
    """An action that was tried in a kind of situation, and whether it worked. A failure only counts against a pattern that is
    known; it makes no new one."""

    action: str
    keywords: tuple[str, ...] = ()
    intent: str | None = None
    entity_types: tuple[str, ...] = ()
    succeeded: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that one extractor, or all of them, found in one event."""

    entities: tuple[EntityFinding, ...] = ()
    relations: tuple[RelationFinding, ...] = ()
    patterns: tuple[PatternHint, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entities or self.relations or self.patterns)


Extractor = Callable[[Event, Sequence[Event]], Findings]
"""Finds what an event says of the graph. Gets the event in the form in which it will be stored, and the latest events before it
in its session, oldest first, whose long texts are cut to their beginning and end. A plain function that does no I/O: it is
called before the transaction, once for each event."""


def merged(found: Iterable[Findings]) -> Findings:
    """Returns all findings as one, each entity and relation once: the properties of an entity together, with the highest
    confidence. The ends of relations are entities too. Raises `InvalidInput` for what isn't a `Findings`."""
    entities: dict[Named, EntityFinding] = {}
    relations: dict[tuple[Named, str, Named], RelationFinding] = {}
    patterns: dict[tuple[str, tuple[str, ...]], PatternHint] = {}
    for one in found:
        if not isinstance(one, Findings):
            raise InvalidInput(f"an extractor returns Findings, not {type(one).__name__}")
        for entity in one.entities:
            _add(entities, entity)
        for relation in one.relations:
            ends = (Named(*relation.source), Named(*relation.target))
            if all(_fits(*end) for end in ends) and _fits(relation.type, "-") and len(relations) < _MAX_RELATIONS:
                for end in ends:
                    _add(entities, EntityFinding(type=end.type, name=end.name, confidence=relation.confidence))
                if entities.keys() >= set(ends):
                    relations.setdefault((ends[0], relation.type, ends[1]), relation)
        for hint in one.patterns:
            if 0 < len(hint.action) <= _MAX_ACTION and len(patterns) < _MAX_HINTS:
                patterns.setdefault((hint.action, hint.keywords), hint)
    return Findings(entities=tuple(entities.values()), relations=tuple(relations.values()), patterns=tuple(patterns.values()))


def _add(known: dict[Named, EntityFinding], one: EntityFinding) -> None:
    name = Named(one.type, one.name)
    if not _fits(*name) or (name not in known and len(known) == _MAX_ENTITIES):
        return
    before = known.get(name)
    if before is not None:
        one = EntityFinding(
            type=one.type,
            name=one.name,
            aliases=tuple(dict.fromkeys((*before.aliases, *one.aliases))),
            properties={**before.properties, **one.properties},
            confidence=max(before.confidence, one.confidence),
        )
    known[name] = one


def _fits(type: str, name: str) -> bool:
    if not isinstance(type, str) or not isinstance(name, str):
        raise InvalidInput("an entity that an extractor finds has a type and a name, both strings")
    return bool(type.strip() and name.strip()) and len(type) <= _MAX_TYPE and len(name) <= _MAX_NAME
