"""Blocking events: the blocking twin of `kinds/events/handle.py`, at `agent.events` of `germane.sync`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from germane.api.workers.threads import Loop
    from germane.kinds.archetypes.findings import RecordedEvent
    from germane.kinds.archetypes.value import Archetype
    from germane.kinds.events import handle as agent_events
    from germane.kinds.events.value import Event, EventPage, NewEvent
    from germane.types.candidate import Sensitivity


class EventLog:
    """As `germane.kinds.events.handle.EventLog`. Hooks are called in the thread of the event loop."""

    def __init__(self, awaited: agent_events.EventLog, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def record(
        self,
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
        archetype: str | Archetype | None = None,
    ) -> RecordedEvent:
        return self._call(
            self._awaited.record,
            type,
            content,
            session=session,
            outcome=outcome,
            task=task,
            at=at,
            id=id,
            sensitivity=sensitivity,
            metadata=metadata,
            archetype=archetype,
        )

    def record_many(
        self,
        events: Sequence[NewEvent | Mapping[str, Any]],
        *,
        session: str | None = None,
        archetype: str | Archetype | None = None,
    ) -> tuple[RecordedEvent, ...]:
        return self._call(self._awaited.record_many, events, session=session, archetype=archetype)

    def list(
        self,
        session: str | None = None,
        *,
        types: Sequence[str] | None = None,
        task: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
        whole: bool = True,
    ) -> EventPage:
        given: dict[str, Any] = {"types": types, "task": task, "since": since, "until": until, "limit": limit}
        return self._call(self._awaited.list, session, **given, cursor=cursor, whole=whole)

    def highlights(
        self, sessions: int = 5, *, session: str | None = None, task: str | None = None, limit: int = 8
    ) -> tuple[Event, ...]:
        return self._call(self._awaited.highlights, sessions, session=session, task=task, limit=limit)
