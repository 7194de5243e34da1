"""Appending: the plans that append messages to a session slice by slice, for recordings too long for one transaction."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from germane.events.event import Event, EventHead, ReplacementLink
from germane.events.extracting import corrections_of, endings_of, found_in, memories_of
from germane.events.operations import EventsByMessageId, LastSaid, PutEvent, SaidLately, SessionLength, SessionTail
from germane.events.own_words import OWN_KINDS, noting_own_words, telling_in
from germane.events.prepared_message import PreparedMessage
from germane.memories.extraction.remember_found import remember_found
from germane.memories.operations import PutMemory
from germane.text.secrets.screen import SecretPolicy
from germane.types.candidate import Provenance, Sensitivity, SourceKind
from germane.types.ids import uuid7
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope

__all__ = ["Origin", "append", "as_changes", "find_by_message_id", "put_ids", "read_tail", "with_found", "with_noted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The properties that all events of one recording share. `secrets` says what happens to secrets in them. Raises
    `InvalidInput` for an invalid session name."""

    scope: Scope
    session: str
    sensitivity: Sensitivity = "private"
    source_kind: SourceKind = "user"
    channel: str | None = None
    extraction: bool = False
    """Whether rules look for memories in the users' own turns."""
    noting: Callable[[Sequence[Event]], Generator[Read[Any], Any, tuple[Change, ...]]] | None = None
    """Decides what new events say of the graph, in the plan that stores them."""
    make_id: Callable[[int], str] = uuid7
    secrets: SecretPolicy = "redact"

    def __post_init__(self) -> None:
        self.scope.within(self.session)


def as_changes(
    prepared: Sequence[PreparedMessage], origin: Origin, *, length: int, now: datetime, first: int = 0
) -> tuple[PutEvent, ...]:
    """Returns the changes that append `prepared` to the session. `length` is the session's next position, `first` the number of
    messages of the same call that were written before."""
    return tuple(
        PutEvent(
            _event(message, origin, position=length + index, at=now + timedelta(microseconds=first + index)),
            message.analysis,
            telling_in(message) if origin.source_kind in OWN_KINDS else (),
        )
        for index, message in enumerate(prepared)
    )


def find_by_message_id(session: str, ids: Sequence[str]) -> Plan[dict[str, EventHead]]:
    """Reads the events of the session with these message ids; the outcome is by message id. Changes nothing."""
    return Decision((), (yield from read(EventsByMessageId(session, tuple(ids)))))


def read_tail(session: str, limit: int, before: int | None = None) -> Plan[tuple[tuple[EventHead, ...], int]]:
    """Reads the last `limit` events of the session before position `before` (default: its end), and its next position. Changes
    nothing."""
    length = yield from read(SessionLength(session))
    return Decision((), ((yield from read(SessionTail(session, limit, before))), length))


def append(
    prepared: Sequence[PreparedMessage], origin: Origin, *, now: datetime, first: int, expected: int | None
) -> Plan[tuple[tuple[str, ...], tuple[str, ...]] | None]:
    """Appends `prepared`; the outcome is the ids of the new events and of the memories found in them. Where the session's next
    position isn't `expected`, another call has written to it: then nothing is written and the outcome is None. With `expected`
    None the position isn't checked."""
    length = yield from read(SessionLength(origin.session))
    if expected is not None and length != expected:
        return Decision((), None)
    changes = as_changes(prepared, origin, length=length, now=now, first=first)
    changes, found = yield from with_found(prepared, changes, origin)
    noted = yield from with_noted(changes, origin)
    return Decision((*changes, *found, *noted), (tuple(change.event.id for change in changes), put_ids(found)))


def with_found(
    prepared: Sequence[PreparedMessage], changes: Sequence[PutEvent], origin: Origin
) -> Generator[Read[Any], Any, tuple[tuple[PutEvent, ...], tuple[Change, ...]]]:
    """Decides on what new messages, which `changes` append, change: the memories that they make and end, and the earlier
    messages that they make outdated. Yields the reads; returns the changes that append them, and the others."""
    if not origin.extraction or origin.source_kind not in OWN_KINDS:
        return tuple(changes), ()
    prepared = [replace(message, found=found_in(message)) for message in prepared]
    events, scope = [change.event for change in changes], origin.scope
    before: str | None = None
    if any(found_in(message).corrections for message in prepared):
        before = yield from read(LastSaid(origin.session))
    pending = yield from remember_found(
        memories_of(prepared, events, scope),
        list(endings_of(prepared, events, scope)),
        list(corrections_of(prepared, events, scope, before)),
    )
    replaced: dict[str, list[ReplacementLink]] = {}
    for older, newer in sorted(pending.outdated):
        replaced.setdefault(newer, []).append(ReplacementLink(older, True))
    if any(found_in(message).restating for message in prepared):
        yield from _restated(prepared, events, replaced)
    put = (
        replace(change, event=change.event._replace(replaces=tuple(replaced[change.event.id])))
        if change.event.id in replaced
        else change
        for change in changes
    )
    return tuple(put), pending.changes


def _restated(
    prepared: Sequence[PreparedMessage], events: Sequence[Event], replaced: dict[str, list[ReplacementLink]]
) -> Generator[Read[Any], Any, None]:
    """Adds to `replaced` what the events may speak of as changed."""
    said = yield from read(SaidLately())
    for message, event in zip(prepared, events, strict=True):
        if not message.own_words:
            continue
        known = {one.id for one in replaced.get(event.id, ())}
        for older in said.restated_by(found_in(message).restating, event.name):
            if older not in known:
                replaced.setdefault(event.id, []).append(ReplacementLink(older, False))
        if len(events) > 1:
            said = said.and_then(event.id, event.name, event.text)


def with_noted(changes: Sequence[PutEvent], origin: Origin) -> Generator[Read[Any], Any, tuple[Change, ...]]:
    """Decides on what new events, which `changes` append, say of the graph. Yields the reads; returns the changes."""
    if origin.noting is None or not changes:
        return ()
    return (yield from origin.noting([change.event for change in changes]))


def put_ids(changes: Iterable[Change]) -> tuple[str, ...]:
    """Returns the ids of the memories that these changes store."""
    return tuple(change.memory.id for change in changes if isinstance(change, PutMemory))


def _event(message: PreparedMessage, origin: Origin, *, position: int, at: datetime) -> Event:
    event = Event(
        id=origin.make_id(int(at.timestamp() * 1000)),
        type=message.type,
        user=origin.scope.user,
        session=origin.session,
        position=position,
        text=message.text,
        created_at=message.created_at or at,
        recorded_at=at,
        role=message.role,
        name=message.name,
        message_id=message.id,
        sensitivity="sensitive" if message.sensitive else origin.sensitivity,
        content_hash=message.content_hash,
        raw=message.raw,
        provenance=Provenance(
            source_kind="tool" if message.type == "tool_message" else origin.source_kind,
            channel=origin.channel,
            session=origin.session,
            message_id=message.id,
            tool_call_id=message.tool_call_id,
            metadata={} if message.secrets is None else message.secrets.as_metadata(),
        ),
    )
    return noting_own_words(event, message.own_words)
