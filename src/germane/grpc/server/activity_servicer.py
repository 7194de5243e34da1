"""Activity servicer: the RPCs of `ActivityService`, which record typed events, list them, and give their highlights."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, cast

from germane.api.workers.threads import by_turns
from germane.errors import InvalidInput
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall, may_read
from germane.grpc.server.from_wire import plain, required, set_moment, set_object
from germane.grpc.server.graph_servicer import entity, relation
from germane.grpc.server.memory_servicer import limit_of, page_size
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import provenance, stamp, wire_text
from germane.grpc.stubs import activity_pb2 as pb
from germane.kinds.archetypes.findings import RecordedEvent
from germane.kinds.events.value import Event, NewEvent
from germane.kinds.keys.value import Right
from germane.types.candidate import Sensitivity
from germane.types.limits import EVENTS, check_size

_SESSIONS, _HIGHLIGHTS = 5, 8


class ActivityServicer:
    """Runs on the engine's loop. Raises `Refused` and `InvalidInput` for a request that its caller has to correct. What a key
    without the right to read gets holds no content."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {"RecordEvents": "write", "ListEvents": "read", "ListHighlights": "read"}
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def record_events(self, request: pb.RecordEventsRequest, call: RpcCall) -> pb.RecordEventsResponse:
        log = self._resolver.scoped(request.scope, call).events
        session = required("session_id", request.session_id)
        check_size("events", len(request.events), EVENTS)
        given = await by_turns(request.events, _new_event)
        recorded = await log.record_many(given, session=session, archetype=request.archetype or None)
        readable = may_read(call)
        return pb.RecordEventsResponse(events=await by_turns(recorded, lambda one, _: _recorded(one, readable=readable)))

    async def list_events(self, request: pb.ListEventsRequest, call: RpcCall) -> pb.ListEventsResponse:
        page = await self._resolver.scoped(request.scope, call).events.list(
            request.session_id or None,
            types=list(request.types) or None,
            task=request.task_id or None,
            since=set_moment(request, "since"),
            until=set_moment(request, "until"),
            limit=page_size(request.page_size),
            cursor=request.page_token or None,
            whole=False,
        )
        return pb.ListEventsResponse(events=map(_event, page.events), next_page_token=page.cursor or "")

    async def list_highlights(self, request: pb.ListHighlightsRequest, call: RpcCall) -> pb.ListHighlightsResponse:
        found = await self._resolver.scoped(request.scope, call).events.highlights(
            limit_of("sessions", request.sessions, _SESSIONS),
            session=request.session_id or None,
            task=request.task_id or None,
            limit=limit_of("limit", request.limit, _HIGHLIGHTS),
        )
        return pb.ListHighlightsResponse(events=map(_event, found))


def _new_event(wire: pb.NewEvent, index: int) -> NewEvent:
    where = f"events[{index}]"
    if not wire.type:
        raise invalid(f"{where}.type is missing: say what happened in a word, such as file_read, error or decision")
    content: Any = plain(wire.content, f"{where}.content") if wire.HasField("content") else None
    try:
        return NewEvent(
            type=wire.type,
            content=content,
            outcome=wire.outcome,
            task=wire.task_id if wire.HasField("task_id") else None,
            at=set_moment(wire, "at"),
            id=wire.event_id or None,
            sensitivity=cast("Sensitivity", wire.sensitivity or "private"),
            metadata=set_object(wire, "metadata") or {},
        )
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from error


def _recorded(stored: RecordedEvent, *, readable: bool) -> pb.RecordedEvent:
    return pb.RecordedEvent(
        event=None if stored.event is None else _event(stored.event, readable=readable),
        entities=[entity(one, readable=readable) for one in stored.entities],
        relations=[relation(one, readable=readable) for one in stored.relations],
        patterns=stored.patterns,
        added=stored.added,
        faults=[pb.ExtractorFault(extractor=wire_text(one.extractor), error=one.error) for one in stored.faults],
        refused_by=wire_text(stored.refused_by),
    )


def _event(stored: Event, *, readable: bool = True) -> pb.StoredEvent:
    """Returns an event; without text, outcome and provenance where the caller may not read."""
    return pb.StoredEvent(
        id=stored.id,
        type=wire_text(stored.type),
        session_id=wire_text(stored.session),
        user_id=stored.user or "",
        position=stored.position,
        text=wire_text(stored.text) if readable else "",
        role=stored.role,
        name=wire_text(stored.name) if readable else "",
        event_id=wire_text(stored.message_id or ""),
        outcome=wire_text(stored.outcome) if readable else "",
        task_id=wire_text(stored.task or ""),
        sensitivity=stored.sensitivity,
        created_at=stamp(stored.created_at),
        recorded_at=stamp(stored.recorded_at),
        whole_size=0 if stored.passage is None else stored.passage.size,
        provenance=provenance(stored.provenance) if readable else None,
    )
