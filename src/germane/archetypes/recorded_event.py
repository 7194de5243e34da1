"""Recorded event: what was stored of one event: the event, and what was found in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from germane.events.event import Event
from germane.graph.entity import Entity
from germane.graph.relation import Relation

__all__ = ["ExtractorFault", "RecordedEvent"]


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

    @property
    def id(self) -> str:
        """The id of the event; '' where it was refused."""
        return "" if self.event is None else self.event.id

    def __repr__(self) -> str:
        found = f"entities={len(self.entities)} relations={len(self.relations)} patterns={len(self.patterns)}"
        return f"<RecordedEvent {self.id or f'refused by {self.refused_by}'} {found}>"
