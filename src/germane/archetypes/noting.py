"""Noting: turns the findings in new events into entities, relations, mentions and patterns, within the plan that stores the
events."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from germane.archetypes.findings import Findings
from germane.events.event import Event
from germane.graph.entity import Entity
from germane.graph.relation import Relation
from germane.types.plan import Change, Read

__all__ = ["FoundInEvent", "NotedFindings", "note_findings"]


class FoundInEvent(NamedTuple):
    """What is stored now of one event's findings: entities, relations, and ids of patterns."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    patterns: tuple[str, ...] = ()


class NotedFindings(NamedTuple):
    """The changes that note the findings of several events, and what was found in each, in order."""

    changes: tuple[Change, ...]
    found: tuple[FoundInEvent, ...]


def note_findings(found: Sequence[tuple[Event, Findings]]) -> Generator[Read[Any], Any, NotedFindings]:
    """Decides on the findings in these events, which the same plan stores before the changes. Yields the reads."""
    yield from ()
    return NotedFindings((), tuple(FoundInEvent() for _ in found))
