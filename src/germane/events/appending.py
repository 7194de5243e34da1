"""Appending: new turns as events at the end of their session, and the plans that a long recording is made of, in slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from germane.events.event import Event, EventHead
from germane.events.operations import EventsByMessageId, PutEvent, SessionLength, SessionTail
from germane.events.turn import Turn
from germane.types.candidate import Provenance, Sensitivity, SourceKind
from germane.types.ids import uuid7
from germane.types.plan import Decision, Plan, read
from germane.types.scope import Scope

__all__ = ["Origin", "append", "ends", "known", "put"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the events of one recording have in common. Raises `InvalidInput` where the session's name can't be one."""

    scope: Scope
    session: str
    sensitivity: Sensitivity = "private"
    source_kind: SourceKind = "user"
    channel: str | None = None
    make_id: Callable[[int], str] = uuid7

    def __post_init__(self) -> None:
        self.scope.within(self.session)


def put(turns: Sequence[Turn], origin: Origin, *, length: int, now: datetime, first: int = 0) -> tuple[PutEvent, ...]:
    """`turns` as the session's next events: `length` is the next position, `first` how many of the call came before them."""
    return tuple(
        PutEvent(_event(turn, origin, position=length + place, at=now + timedelta(microseconds=first + place)), turn.analysis)
        for place, turn in enumerate(turns)
    )


def known(session: str, ids: Sequence[str]) -> Plan[dict[str, EventHead]]:
    """Which of these message ids the session holds. Changes nothing."""
    return Decision((), (yield from read(EventsByMessageId(session, tuple(ids)))))


def ends(session: str, limit: int, before: int | None = None) -> Plan[tuple[tuple[EventHead, ...], int]]:
    """The last `limit` events of the session before position `before`, and its next position. Changes nothing."""
    length = yield from read(SessionLength(session))
    return Decision((), ((yield from read(SessionTail(session, limit, before))), length))


def append(
    turns: Sequence[Turn], origin: Origin, *, now: datetime, first: int, expected: int | None
) -> Plan[tuple[str, ...] | None]:
    """The ids of the new events. None, and nothing is written, where the session's next position isn't the `expected` one:
    another call has written to it. With `expected` None they are appended wherever it ends."""
    length = yield from read(SessionLength(origin.session))
    if expected is not None and length != expected:
        return Decision((), None)
    changes = put(turns, origin, length=length, now=now, first=first)
    return Decision(changes, tuple(change.event.id for change in changes))


def _event(turn: Turn, origin: Origin, *, position: int, at: datetime) -> Event:
    return Event(
        id=origin.make_id(int(at.timestamp() * 1000)),
        type=turn.type,
        user=origin.scope.user,
        session=origin.session,
        position=position,
        text=turn.text,
        created_at=turn.created_at or at,
        recorded_at=at,
        role=turn.role,
        name=turn.name,
        message_id=turn.id,
        sensitivity=origin.sensitivity,
        content_hash=turn.content_hash,
        raw=turn.raw,
        provenance=Provenance(
            source_kind="tool" if turn.type == "tool_message" else origin.source_kind,
            channel=origin.channel,
            session=origin.session,
            message_id=turn.id,
            tool_call_id=turn.tool_call_id,
        ),
    )
