"""Record: the plan that stores an event that isn't a message, with what was found in it, in one transaction (GRAPH-4)."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from germane.archetypes.extract import LOOK_BACK
from germane.archetypes.findings import Findings
from germane.archetypes.noting import note_findings
from germane.archetypes.recorded_event import ExtractorFault, RecordedEvent
from germane.errors import Conflict
from germane.events.appending import Origin
from germane.events.event import Event
from germane.events.operations import EventsNamed, LatestTyped, PutEvent, TypedPosition
from germane.events.prepared_event import same_event
from germane.tasks.stack import current_task
from germane.types.plan import Decision, Plan, read

__all__ = ["Before", "ExtractedEvent", "look_back", "record_event"]


class ExtractedEvent(NamedTuple):
    """An event that is to be stored, what was found in it, and the extractors that failed on it. `with_task`: it belongs to the
    task at which its session stands, as the caller named none."""

    event: Event
    findings: Findings = Findings()
    faults: tuple[ExtractorFault, ...] = ()
    with_task: bool = False


class Before(NamedTuple):
    """The latest events of a session that aren't messages, and the id of the task that it stands at."""

    events: tuple[Event, ...] = ()
    task: str | None = None


def look_back(session: str, until: datetime) -> Plan[Before]:
    """Reads what extractors know of the session: what happened by `until`, and its task. Changes nothing."""
    events = yield from read(LatestTyped(session, LOOK_BACK, until))
    return Decision((), Before(events, (yield from current_task(session))))


def record_event(extracted: ExtractedEvent, *, origin: Origin) -> Plan[RecordedEvent]:
    """Stores the event behind those that the session holds, and notes entities, relations and patterns. One with an `id` that
    the session knows is found and not stored, whatever its task. Raises `Conflict` where the id is known with other content;
    then nothing is written."""
    event = extracted.event
    if event.message_id is not None:
        known = yield from read(EventsNamed(origin.session, (event.message_id,)))
        if (held := known.get(event.message_id)) is not None:
            if not same_event(held, event):
                raise Conflict(f"event id {event.message_id!r} was recorded before with different content: give it another id")
            return Decision((), RecordedEvent(event=held, added=False))
    task = (yield from current_task(origin.session)) if extracted.with_task else event.task
    event = event._replace(position=(yield from read(TypedPosition(origin.session))), task=task)
    noted = yield from note_findings(event, extracted.findings)
    recorded = RecordedEvent(
        event=event,
        entities=noted.entities,
        relations=noted.relations,
        patterns=noted.patterns,
        faults=extracted.faults,
    )
    return Decision((PutEvent(event), *noted.changes), recorded)
