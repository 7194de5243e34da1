"""Findings: what extractors found in one event, and what was stored of it.

Findings are entities, relations, and hints at what works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from germane.errors import InvalidInput
from germane.kinds.events.value import Event
from germane.kinds.graph.value import Entity, EntityFinding, EntityName, Relation, RelationFinding

_MAX_ENTITIES = _MAX_RELATIONS = 64
_MAX_HINTS = 4
"""Of one event; what an extractor finds beyond them is left out."""
_MAX_NAME, _MAX_TYPE, _MAX_ACTION = 256, 64, 1_000
"""Characters. What is longer names nothing, and is left out."""


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
    """All that one extractor, or all of them, found in one event. `borrowed` are those of the entities whose names are words of
    earlier events, each with the ids of these, and `sources` all earlier events of which something here has words: what was
    found in their words is forgotten with them."""

    entities: tuple[EntityFinding, ...] = ()
    relations: tuple[RelationFinding, ...] = ()
    patterns: tuple[PatternHint, ...] = ()
    borrowed: Mapping[EntityName, tuple[str, ...]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entities or self.relations or self.patterns)

    @property
    def own(self) -> Findings:
        """What is left where one of the sources was forgotten meanwhile."""
        if not self.sources:
            return self
        return Findings(
            entities=tuple(one for one in self.entities if EntityName(one.type, one.name) not in self.borrowed),
            relations=tuple(one for one in self.relations if self.borrowed.keys().isdisjoint((one.source, one.target))),
        )


Extractor = Callable[[Event, Sequence[Event]], Findings]
"""Finds what an event says of the graph. Gets the event in the form in which it will be stored, and the latest events before it
in its session, oldest first, whose long texts are cut to their beginning and end. A plain function that does no I/O: it is
called before the transaction, once for each event."""


def states(source: EntityName, type: str, target: EntityName, confidence: float) -> RelationFinding:
    """Returns the relation that an event states with this confidence, in [0, 1]."""
    return RelationFinding(source=source, type=type, target=target, confidence=confidence)


def merged(found: Iterable[Findings]) -> Findings:
    """Returns all findings as one, each entity and relation once, with all the properties that were found of an entity. The
    ends of relations are entities too. Raises `InvalidInput` for what isn't a `Findings`."""
    entities: dict[EntityName, EntityFinding] = {}
    relations: dict[tuple[EntityName, str, EntityName], RelationFinding] = {}
    patterns: dict[tuple[str, tuple[str, ...]], PatternHint] = {}
    for one in found:
        if not isinstance(one, Findings):
            raise InvalidInput(f"an extractor returns Findings, not {type(one).__name__}")
        for entity in one.entities:
            _add(entities, entity)
        for relation in one.relations:
            ends = (EntityName(*relation.source), EntityName(*relation.target))
            if all(_fits(*end) for end in ends) and _fits(relation.type, "-") and len(relations) < _MAX_RELATIONS:
                for end in ends:
                    if end not in entities:
                        _add(entities, EntityFinding(type=end.type, name=end.name))
                if entities.keys() >= set(ends):
                    relations.setdefault((ends[0], relation.type, ends[1]), relation)
        for hint in one.patterns:
            if 0 < len(hint.action) <= _MAX_ACTION and len(patterns) < _MAX_HINTS:
                patterns.setdefault((hint.action, hint.keywords), hint)
    return Findings(entities=tuple(entities.values()), relations=tuple(relations.values()), patterns=tuple(patterns.values()))


def _add(known: dict[EntityName, EntityFinding], one: EntityFinding) -> None:
    name = EntityName(one.type, one.name)
    if not _fits(*name) or (name not in known and len(known) == _MAX_ENTITIES):
        return
    before = known.get(name)
    if before is not None:
        one = replace(
            one,
            aliases=tuple(dict.fromkeys((*before.aliases, *one.aliases))),
            properties={**before.properties, **one.properties},
            confidence=max(before.confidence, one.confidence),
        )
    known[name] = one


def _fits(type: str, name: str) -> bool:
    if not isinstance(type, str) or not isinstance(name, str):
        raise InvalidInput("an entity that an extractor finds has a type and a name, both strings")
    return bool(type.strip() and name.strip()) and len(type) <= _MAX_TYPE and len(name) <= _MAX_NAME


# What was stored of one event: the event, and what was found in it. The client has this value too.


class ExtractorFault(NamedTuple):
    """An extractor that failed on an event: its name, and the type of the exception, without its message, which may hold what
    the event says."""

    extractor: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEvent:
    """`event` is as it is stored; None where a hook refused it. `entities` and `relations` are those that the event mentions
    and states, as they are stored now, and `patterns` the ids of patterns that were learned or counted. `added` is False for an
    event that was stored before under the same id: then nothing was extracted. `faults` are the extractors that failed; what
    the others found is stored."""

    event: Event | None
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    patterns: tuple[str, ...] = ()
    added: bool = True
    faults: tuple[ExtractorFault, ...] = ()
    refused_by: str = ""
    """The hook that refused the event."""

    def without_content(self) -> RecordedEvent:
        """Returns what a caller gets who may not read: the event, entities and relations without their content."""
        return replace(
            self,
            event=None if self.event is None else self.event.without_content(),
            entities=tuple(one.without_content() for one in self.entities),
            relations=tuple(one.without_content() for one in self.relations),
        )

    @property
    def id(self) -> str:
        """The id of the event; '' where it was refused."""
        return "" if self.event is None else self.event.id

    def __repr__(self) -> str:
        found = f"entities={len(self.entities)} relations={len(self.relations)} patterns={len(self.patterns)}"
        return f"<RecordedEvent {self.id or f'refused by {self.refused_by}'} {found}>"
