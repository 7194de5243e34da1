"""Noting: turns the findings in a new event into entities, relations, mentions and patterns, within the plan that stores it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from germane.archetypes.findings import Findings, PatternHint
from germane.events.event import Event
from germane.events.operations import EventsById
from germane.graph.entity import Entity
from germane.graph.operations import CountPattern, PatternsWithAction, PutPattern
from germane.graph.pattern import Pattern
from germane.graph.record_findings import link_findings
from germane.graph.relation import Relation
from germane.types.ids import uuid7
from germane.types.plan import Change, Read, read

__all__ = ["NotedFindings", "note_findings"]


class NotedFindings(NamedTuple):
    """The changes that note the findings, which follow the one that stores the event, and what they come to: entities and
    relations as they will be, and the ids of patterns that are learned or counted."""

    changes: tuple[Change, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    patterns: tuple[str, ...] = ()


def note_findings(event: Event, findings: Findings) -> Generator[Read[Any], Any, NotedFindings]:
    """Decides on the findings in an event. Yields the reads. Of what was found in the words of earlier events nothing is noted
    where one of these is forgotten."""
    if findings.sources and len((yield from read(EventsById(findings.sources)))) < len(findings.sources):
        findings = findings.own
    if not findings:
        return NotedFindings()
    linked = yield from link_findings(
        findings.entities,
        findings.relations,
        thing=event.id,
        user=event.user,
        at=event.created_at,
        now=event.recorded_at,
        sensitivity=event.sensitivity,
        borrowed=findings.borrowed,
    )
    changes, patterns = list(linked.changes), list[str]()
    for hint in findings.patterns:
        change = yield from _pattern(event, hint, findings.sources)
        if change is not None:
            changes.append(change)
            patterns.append(change.pattern.id if isinstance(change, PutPattern) else change.id)
    return NotedFindings(tuple(changes), linked.entities, linked.relations, tuple(patterns))


def _pattern(
    event: Event, hint: PatternHint, sources: tuple[str, ...]
) -> Generator[Read[Any], Any, PutPattern | CountPattern | None]:
    """A pattern that is known is counted. A new one is learned from a success alone."""
    known = yield from read(PatternsWithAction(hint.action))
    for pattern in known:
        if (pattern.keywords, pattern.intent, pattern.entity_types) == (hint.keywords, hint.intent, hint.entity_types):
            return CountPattern(pattern.id, hint.succeeded, event.created_at)
    if not hint.succeeded:
        return None
    learned = Pattern(
        id=uuid7(int(event.recorded_at.timestamp() * 1000)),
        action=hint.action,
        keywords=hint.keywords,
        intent=hint.intent,
        entity_types=hint.entity_types,
        user=event.user,
        successes=1,
        applications=1,
        sensitivity=event.sensitivity,
        created_at=event.created_at,
        updated_at=event.recorded_at,
    )
    return PutPattern(learned, refs=(event.id, *sources))
