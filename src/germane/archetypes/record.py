"""Record: the plan that stores events that aren't messages, with what was found in them, in one transaction (GRAPH-4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from germane.archetypes.extract import LOOK_BACK
from germane.archetypes.findings import Findings
from germane.archetypes.noting import note_findings
from germane.archetypes.recorded_event import ExtractorFault, RecordedEvent
from germane.errors import Conflict
from germane.events.appending import Origin
from germane.events.event import Event
from germane.events.new_event import same_event
from germane.events.operations import EventsNamed, LatestTyped, PutEvent, TypedPosition
from germane.types.plan import Decision, Plan, read

__all__ = ["ExtractedEvent", "look_back", "record_events"]


class ExtractedEvent(NamedTuple):
    """An event that is to be stored, what was found in it, and the extractors that failed on it."""

    event: Event
    findings: Findings = Findings()
    faults: tuple[ExtractorFault, ...] = ()


def look_back(session: str, until: datetime) -> Plan[tuple[Event, ...]]:
    """Reads the latest events of the session that aren't messages and happened by `until`. Changes nothing."""
    return Decision((), (yield from read(LatestTyped(session, LOOK_BACK, until))))


def record_events(extracted: Sequence[ExtractedEvent], *, origin: Origin) -> Plan[tuple[RecordedEvent, ...]]:
    """Stores the events behind those that the session holds, and notes entities, relations and patterns. One with an `id` that
    the session knows is found and not stored; of several with one id in the same call, the first is stored. The outcome has one
    entry for each, in order. Raises `Conflict` where an id is known with other content; then nothing is written."""
    ids = tuple(one.event.message_id for one in extracted if one.event.message_id is not None)
    known: dict[str, Event] = dict((yield from read(EventsNamed(origin.session, ids)))) if ids else {}
    position = yield from read(TypedPosition(origin.session))
    new, outcome = list[ExtractedEvent](), list[RecordedEvent]()
    places = list[int]()
    for one in extracted:
        event = one.event
        held = known.get(event.message_id) if event.message_id is not None else None
        if held is not None:
            if not same_event(held, event):
                raise Conflict(f"event id {event.message_id!r} was recorded before with different content: give it another id")
            outcome.append(RecordedEvent(event=held, added=False))
            continue
        event = replace(event, position=position + len(new))
        if event.message_id is not None:
            known[event.message_id] = event
        new.append(one._replace(event=event))
        places.append(len(outcome))
        outcome.append(RecordedEvent(event=event, faults=one.faults))
    noted = yield from note_findings([(one.event, one.findings) for one in new])
    for place, found in zip(places, noted.found, strict=True):
        outcome[place] = replace(outcome[place], entities=found.entities, relations=found.relations, patterns=found.patterns)
    return Decision((*(PutEvent(one.event) for one in new), *noted.changes), tuple(outcome))
