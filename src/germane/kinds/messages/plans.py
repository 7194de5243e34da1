"""Plans: keep a conversation verbatim, each message once however often it is sent.

Clients send the new message, the last few, or the whole conversation each time; `record` finds out which of them are stored
already. A recording that is too long for one transaction is appended slice by slice, with `append`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from germane.errors import Conflict, InvalidInput
from germane.extraction.memories.plans import remember_found
from germane.extraction.messages import (
    OWN_KINDS,
    corrections_of,
    endings_of,
    found_in,
    memories_of,
    noting_own_words,
    telling_in,
)
from germane.kinds.events.reads import EventsByMessageId, LastSaid, PutEvent, SaidLately, SessionLength, SessionTail
from germane.kinds.events.value import Event, EventHead, Recorded, ReplacementLink
from germane.kinds.memories.reads import PutMemory
from germane.kinds.messages.alignment import RETRY_TIME, Resent, find_resent
from germane.kinds.messages.prepared import PreparedMessage, counted_secrets, screened_message
from germane.text.secrets.detection import SecretPolicy
from germane.types.candidate import Provenance, Sensitivity, SourceKind
from germane.types.message import Message
from germane.types.plan import Change, Decision, Plan, Read, read, uuid7
from germane.types.scope import Scope


def record(
    messages: Sequence[Message], *, origin: Origin, now: datetime, raws: Sequence[Mapping[str, Any] | None] | None = None
) -> Plan[Recorded]:
    """Appends to the session those of `messages` that it doesn't hold. `raws` are the caller's own dicts, one per message.

    A message with an id is identified by it within (agent, user, session). Sent again, it is skipped; sent with another role or
    text, it raises `Conflict` and nothing of the call is written.

    Messages without ids are aligned by role and content. Where the list begins with the messages that the stored session ends
    with, these count as re-sent and only the messages after them are new: [a, ok] followed by [a, ok, ok] adds one "ok". The
    same holds where the list begins with at least two messages that the session begins with, provided that the session has at
    most 64 messages more than the list and is less than 9 times as long. Two messages that both came with a `created_at` are
    equal only if it is equal to the millisecond. Where only some messages have ids, a message without an id that stands beside
    a known one, in the list as in the store, is known too.

    A list of one short turn (at most one message of the user, of at most 200 characters) that equals the end or the beginning
    of the session is a retry within ten seconds after these messages were stored, and adds nothing. Later it was said again
    and is added. The outcome names such messages. Imports (`source_kind`) never add what the session holds.

    System messages (the caller's instructions) and messages without content are neither stored nor compared. A message without
    `created_at` gets `now`, plus one microsecond for each message before it; times in the future stay as given. Lone surrogates
    are stored as U+FFFD. The policy on secrets (`origin.secrets`) is applied to new messages; messages are compared as they
    were sent, and a message that was redacted is known by its stored text too. Raises `Conflict` and `InvalidInput`.
    """
    if raws is not None and len(raws) != len(messages):
        raise InvalidInput(f"{len(raws)} dicts for {len(messages)} messages", advice="give one for each")
    zone = origin.scope.zone
    prepared = without_repeats(
        PreparedMessage.of(message, raws[i] if raws else None, zone, None if raws is None else i)
        for i, message in enumerate(messages)
    )
    if not prepared:
        return Decision((), Recorded(skipped=len(messages)))
    ids = tuple(message.id for message in prepared if message.id is not None)
    known: dict[str, EventHead] = (yield from read(EventsByMessageId(origin.session, ids))) if ids else {}
    check_conflicts(prepared, known)
    length = yield from read(SessionLength(origin.session))
    found = Resent()
    if limit := tail_length(prepared, len(known)):
        tail = yield from read(SessionTail(origin.session, limit))
        length = max(length, tail[-1].position + 1 if tail else 0)
        found = find_resent(prepared, tail, length, whole=len(tail) < limit, now=now, retry=retry_time(origin))
    new = [index for index, message in enumerate(prepared) if index not in found.held and message.id not in known]
    kept = [screened_message(prepared[index], origin.secrets) for index in new]
    changes = as_changes(kept, origin, length=length, now=now)
    changes, extracted = yield from with_found(kept, changes, origin)
    noted = yield from with_noted(changes, origin)
    added = tuple(change.event.id for change in changes)
    outcome = Recorded(
        added=added,
        skipped=len(messages) - len(added),
        secrets=counted_secrets(kept),
        extracted=put_ids(extracted),
        assumed_resent=len(found.assumed_resent),
        assumed_new=tuple(id for index, id in zip(new, added, strict=True) if index in found.assumed_new),
    )
    return Decision((*changes, *extracted, *noted), outcome)


def retry_time(origin: Origin) -> timedelta | None:
    """Returns how long after a short turn was stored the same turn counts as a retry; None for imports, whose files may be
    imported again at any time."""
    return None if origin.source_kind == "import" else RETRY_TIME


def tail_length(prepared: Sequence[PreparedMessage], known: int) -> int:
    """Returns how many of the session's last events must be compared to tell which of `prepared` it holds. 0 where all messages
    have ids and either all or none of them are known; `known` is the number of known ids."""
    if known in (0, len(prepared)) and all(message.id is not None for message in prepared):
        return 0
    return len(prepared) + min(8 * (len(prepared) - 1), 64)


def without_repeats(prepared: Iterable[PreparedMessage | None]) -> list[PreparedMessage]:
    """Returns the messages that aren't None, each id once. Raises `Conflict` where an id is used for two contents."""
    seen: dict[str, PreparedMessage] = {}
    kept: list[PreparedMessage] = []
    for message in prepared:
        if message is None:
            continue
        if message.id is not None:
            if message.id in seen:
                _check_conflict(message.id, message, seen[message.id])
                continue
            seen[message.id] = message
        kept.append(message)
    return kept


def check_conflicts(prepared: Iterable[PreparedMessage], known: Mapping[str, EventHead]) -> None:
    """Raises `Conflict` where a message's id is known with another role or content."""
    for message in prepared:
        if message.id is not None and message.id in known:
            _check_conflict(message.id, message, known[message.id])


def _check_conflict(id: str | None, message: PreparedMessage, other: PreparedMessage | EventHead) -> None:
    kept_hash = other.kept_hash if isinstance(other, EventHead) else None
    known = other.content_hash, kept_hash
    same = message.content_hash in known or (message.earlier_hash is not None and message.earlier_hash in known)
    if message.role != other.role or not same:
        raise Conflict(
            "message id {} was recorded before with different content", id, advice="give new content an id of its own"
        )


# Appending: what one transaction adds to a session, with the memories that it makes and ends and the earlier messages
# that it makes outdated.


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


def append_messages(
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
