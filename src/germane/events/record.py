"""Record: the plan that keeps a conversation verbatim, each message once however often it is sent.

Clients send the new message, the last few, or the whole conversation each time; `record` finds out which of them are stored
already. Not here: the recording of long conversations in slices (`api/recording.py`, with the plans in `appending.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from germane.errors import Conflict, InvalidInput
from germane.events.appending import Origin, as_changes, put_ids, with_found, with_noted
from germane.events.event import EventHead, Recorded
from germane.events.operations import EventsByMessageId, SessionLength, SessionTail
from germane.events.prepared_message import PreparedMessage
from germane.events.resent import RETRY, Resent, resent
from germane.events.screened_message import counted_secrets, screened
from germane.types.message import Message
from germane.types.plan import Decision, Plan, read

__all__ = ["check_conflicts", "record", "retry_time", "tail_length", "without_repeats"]


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
        raise InvalidInput(f"{len(raws)} dicts for {len(messages)} messages: give one for each")
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
        found = resent(prepared, tail, length, whole=len(tail) < limit, now=now, retry=retry_time(origin))
    new = [index for index, message in enumerate(prepared) if index not in found.held and message.id not in known]
    kept = [screened(prepared[index], origin.secrets) for index in new]
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
    return None if origin.source_kind == "import" else RETRY


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
        raise Conflict(f"message id {id!r} was recorded before with different content: give new content an id of its own")
