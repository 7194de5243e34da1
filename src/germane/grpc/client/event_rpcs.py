"""Event RPCs: the client's calls about typed events, as `client.events`. All return plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from google.protobuf.struct_pb2 import Value

from germane.errors import InvalidInput
from germane.grpc.client.assembly import ClientScope, checked_text, time_to_wire
from germane.grpc.client.block_values import number_given, wire_struct
from germane.grpc.client.graph_rpcs import entity_of_wire, relation_of_wire
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire
from germane.grpc.client.values import event_of_wire
from germane.grpc.stubs import activity_pb2 as pb
from germane.grpc.stubs.activity_pb2_grpc import ActivityServiceStub
from germane.kinds.archetypes.findings import ExtractorFault, RecordedEvent
from germane.kinds.events.value import Event, EventPage, NewEvent
from germane.types.candidate import Sensitivity
from germane.types.limits import EVENTS, PAGE, check_size

_SESSIONS = 100
_FIELDS = tuple(field.name for field in fields(NewEvent))


def record(
    scope: ClientScope,
    type: str,
    content: str | Mapping[str, Any] | None = None,
    *,
    session: str | None = None,
    outcome: str = "",
    task: str | None = None,
    at: datetime | None = None,
    id: str | None = None,
    sensitivity: Sensitivity = "private",
    metadata: Mapping[str, Any] | None = None,
    archetype: str | None = None,
) -> ClientRpc[RecordedEvent]:
    """Stores one event, and what the extractors of the service's archetype (or of the one that is named) find in it. Idempotent
    by `id`. Raises `InvalidInput`, and `Conflict` for an `id` that was recorded with other content."""
    new = {"type": type, "content": content, "outcome": outcome, "task": task, "at": at, "id": id}
    request = _request(scope, [{**new, "sensitivity": sensitivity, "metadata": metadata or {}}], session, archetype)
    return ClientRpc(ActivityServiceStub, "RecordEvents", request, lambda response: _recorded(response)[0])


def record_many(
    scope: ClientScope,
    events: Sequence[NewEvent | Mapping[str, Any]],
    *,
    session: str | None = None,
    archetype: str | None = None,
) -> ClientRpc[tuple[RecordedEvent, ...]]:
    """Stores events, each a `NewEvent` or a dict with the arguments of `record`, and returns what was stored of each."""
    return ClientRpc(ActivityServiceStub, "RecordEvents", _request(scope, events, session, archetype), _recorded)


def list_events(
    scope: ClientScope,
    session: str | None = None,
    *,
    types: Sequence[str] | None = None,
    task: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> ClientRpc[EventPage]:
    """Returns a page of `limit` (1 to 1,000) events, the latest first. Long texts are cut to their beginning."""
    if isinstance(types, str) or (types is not None and not types):
        raise InvalidInput("types must be a list of at least one type")
    request = pb.ListEventsRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session, optional=True),
        types=[checked_text("types", one) for one in types or ()],
        task_id=checked_text("task", task, optional=True),
        since=None if since is None else time_to_wire("since", since, scope.zone),
        until=None if until is None else time_to_wire("until", until, scope.zone),
        page_size=number_given("limit", limit, 1, PAGE.maximum),
        page_token=checked_text("cursor", cursor, optional=True),
    )

    def read(response: pb.ListEventsResponse) -> EventPage:
        return EventPage(events=tuple(map(_event, response.events)), cursor=response.next_page_token or None)

    return ClientRpc(ActivityServiceStub, "ListEvents", request, read)


def highlights(
    scope: ClientScope, sessions: int = 5, *, session: str | None = None, task: str | None = None, limit: int = 8
) -> ClientRpc[tuple[Event, ...]]:
    """Returns the events of the latest `sessions` (or of one `session`) that are worth knowing later, at most `limit` of each.
    Long texts are cut."""
    request = pb.ListHighlightsRequest(
        scope=scope_to_wire(scope),
        sessions=number_given("sessions", sessions, 1, _SESSIONS),
        session_id=checked_text("session", session, optional=True),
        task_id=checked_text("task", task, optional=True),
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )

    def read(response: pb.ListHighlightsResponse) -> tuple[Event, ...]:
        return tuple(map(_event, response.events))

    return ClientRpc(ActivityServiceStub, "ListHighlights", request, read)


def _request(scope: ClientScope, events: Any, session: str | None, archetype: str | None) -> pb.RecordEventsRequest:
    if isinstance(events, str | bytes | Mapping) or not isinstance(events, Sequence):
        raise InvalidInput(f"events must be a list of events, not {type(events).__name__}")
    check_size("events", len(events), EVENTS)
    return pb.RecordEventsRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session),
        events=[_new_event(one, index, scope.zone) for index, one in enumerate(events)],
        archetype=checked_text("archetype", archetype, optional=True),
    )


def _new_event(one: Any, index: int, zone: str) -> pb.NewEvent:
    """Checks as the library does, before anything is sent."""
    where = f"events[{index}]"
    if isinstance(one, Mapping):
        if strangers := sorted(str(name)[:40] for name in one if name not in _FIELDS):
            raise InvalidInput(f"{where} has no {strangers[0]!r}: its fields are {', '.join(sorted(_FIELDS))}")
        if "type" not in one:
            raise InvalidInput(f"{where} lacks its type")
        one = NewEvent(**one)
    if not isinstance(one, NewEvent):
        raise InvalidInput(f"{where} must be a NewEvent or a dict, not {type(one).__name__}")
    content: Value | None = None
    if isinstance(one.content, str):
        content = Value(string_value=one.content)
    elif one.content is not None:
        content = Value(struct_value=wire_struct(f"{where}.content", one.content))
    return pb.NewEvent(
        type=one.type,
        content=content,
        outcome=one.outcome,
        task_id=one.task,
        at=None if one.at is None else time_to_wire("at", one.at, zone),
        event_id=one.id or "",
        sensitivity=one.sensitivity,
        metadata=wire_struct(f"{where}.metadata", one.metadata) if one.metadata else None,
    )


def _recorded(response: pb.RecordEventsResponse) -> tuple[RecordedEvent, ...]:
    return tuple(
        RecordedEvent(
            event=_event(one.event) if one.HasField("event") else None,
            entities=tuple(map(entity_of_wire, one.entities)),
            relations=tuple(map(relation_of_wire, one.relations)),
            patterns=tuple(one.patterns),
            added=one.added,
            faults=tuple(ExtractorFault(fault.extractor, fault.error) for fault in one.faults),
            refused_by=one.refused_by,
        )
        for one in response.events
    )


def _event(wire: pb.StoredEvent) -> Event:
    """An event as `germane.Agent.events` returns it, without its content hash and the caller's own content."""
    return event_of_wire(wire, type=wire.type, message_id=wire.event_id, outcome=wire.outcome, task=wire.task_id)
