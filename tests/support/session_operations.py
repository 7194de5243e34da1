"""Session operations: a store over a list, which holds one session for the tests of `record`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from germane.kinds.events.reads import EventsByMessageId, PutEvent, SessionLength, SessionTail
from germane.kinds.events.value import Event, EventHead, Recorded
from germane.kinds.messages.plans import Origin, record
from germane.types.message import Message
from germane.types.plan import Plan, Read, run_plan
from germane.types.scope import Scope

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)


class SessionOperations:
    """The events of one session. Each call of `record` is a minute later than the previous one, and each of `retry` a second.
    The position of a forgotten event stays unused."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.length = 0
        self.reads: list[Read[Any]] = []
        self._minutes = count()
        self._now = NOW

    def record(self, messages: Sequence[Message], **options: Any) -> Recorded:
        if "now" not in options:
            self._now = NOW + timedelta(minutes=next(self._minutes))
        given = {"now": self._now} | {name: options.pop(name) for name in ("now", "raws") if name in options}
        origin = Origin(**{"session": "s", "scope": Scope(user="caroline"), **options})
        return self.commit(record(messages, origin=origin, **given))

    def retry(self, messages: Sequence[Message], **options: Any) -> Recorded:
        self._now += timedelta(seconds=1)
        return self.record(messages, now=self._now, **options)

    def commit(self, plan: Plan[Recorded]) -> Recorded:
        decision = run_plan(plan, self._answer)
        for change in decision.changes:
            assert isinstance(change, PutEvent)
            assert change.event.position == self.length
            self.events.append(change.event)
            self.length += 1
        return decision.outcome

    def forget(self, *positions: int) -> None:
        self.events = [event for event in self.events if event.position not in positions]

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.events]

    def _answer(self, read: Read[Any]) -> Any:
        self.reads.append(read)
        match read:
            case EventsByMessageId(_, ids):
                return {event.message_id: head(event) for event in self.events if event.message_id in ids}
            case SessionTail(_, limit, before):
                return tuple(head(event) for event in self.events if before is None or event.position < before)[-limit:]
            case SessionLength():
                return self.length
        raise AssertionError(read)


def head(event: Event) -> EventHead:
    return EventHead(event.position, event.role, event.content_hash, event.message_id, event.created_at, event.recorded_at)
