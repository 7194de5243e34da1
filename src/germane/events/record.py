"""Record: keep a conversation verbatim, each message once, however often it is sent.

Clients send what they have: the turn that is new, the last few, or the whole conversation each time. `record` finds out what
of it is kept already. Deliberately not here: extraction of anything from what was said; how a long conversation is written in
slices (`recording.py`, of the plans in `appending.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from germane.errors import Conflict, InvalidInput
from germane.events.appending import Origin, put
from germane.events.event import EventHead
from germane.events.operations import EventsByMessageId, SessionLength, SessionTail
from germane.events.resent import resent
from germane.events.turn import Turn
from germane.types.message import Message
from germane.types.plan import Decision, Plan, read

__all__ = ["Recorded", "agree", "distinct", "reach", "record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """`added` are germane's ids of the new events, in order; `skipped` counts the messages that were kept before, or aren't
    kept at all (system messages, empty ones)."""

    added: tuple[str, ...] = ()
    skipped: int = 0


def record(
    messages: Sequence[Message], *, origin: Origin, now: datetime, raws: Sequence[Mapping[str, Any] | None] | None = None
) -> Plan[Recorded]:
    """Append to the session those of `messages` that it doesn't hold. `raws` are the caller's own dicts, one a message.

    A message with an id is known by it, within (agent, user, session): sent again it is skipped, with another role or text
    it is a `Conflict` and nothing of the call is written.

    Messages without ids are aligned by role and content: what the list begins with is taken as re-sent where it is how the
    stored session ends, and only what comes after is new: [a, ok] then [a, ok, ok] adds one "ok". So is, with two messages
    and more, how the session begins, while it has at most 64 messages more than the list and is less than 9 times as long.
    A list that as a whole equals the end of the session is a retry and adds nothing: to record "ok" twice in calls of their
    own, give ids or times. Two messages that both came with a `created_at` are the same only if it is the same to the
    millisecond. Where only some have ids, one without that stands beside a known one, as it does in the store, is known too.

    System messages are the caller's instructions, not part of what was said: they are neither kept nor compared, nor are
    messages without content. A message without `created_at` gets `now`, plus a microsecond for each before it; times in the
    future stay as given. Lone surrogates are kept as U+FFFD. Raises `Conflict`, `InvalidInput`.
    """
    if raws is not None and len(raws) != len(messages):
        raise InvalidInput(f"{len(raws)} dicts for {len(messages)} messages: give one for each")
    zone = origin.scope.zone
    turns = distinct(Turn.of(message, raws[i] if raws else None, zone) for i, message in enumerate(messages))
    if not turns:
        return Decision((), Recorded(skipped=len(messages)))
    ids = tuple(turn.id for turn in turns if turn.id is not None)
    known: dict[str, EventHead] = (yield from read(EventsByMessageId(origin.session, ids))) if ids else {}
    agree(turns, known)
    length = yield from read(SessionLength(origin.session))
    held = {place for place, turn in enumerate(turns) if turn.id in known}
    if limit := reach(turns, len(known)):
        tail = yield from read(SessionTail(origin.session, limit))
        length = max(length, tail[-1].position + 1 if tail else 0)
        held |= resent(turns, tail, length, whole=len(tail) < limit)
    new = [turn for place, turn in enumerate(turns) if place not in held]
    changes = put(new, origin, length=length, now=now)
    outcome = Recorded(added=tuple(change.event.id for change in changes), skipped=len(messages) - len(changes))
    return Decision(changes, outcome)


def reach(turns: Sequence[Turn], known: int) -> int:
    """How many of the session's last events tell which of `turns` it holds; 0 where their ids have told, `known` of them."""
    if known in (0, len(turns)) and all(turn.id is not None for turn in turns):
        return 0
    return len(turns) + min(8 * (len(turns) - 1), 64)


def distinct(turns: Iterable[Turn | None]) -> list[Turn]:
    """Those that are kept, each id once. Raises `Conflict` where one id stands for two contents."""
    seen: dict[str, Turn] = {}
    kept: list[Turn] = []
    for turn in turns:
        if turn is None:
            continue
        if turn.id is not None:
            if turn.id in seen:
                _agree(turn.id, turn, seen[turn.id])
                continue
            seen[turn.id] = turn
        kept.append(turn)
    return kept


def agree(turns: Iterable[Turn], known: Mapping[str, EventHead]) -> None:
    """Raises `Conflict` where an id is known with another content."""
    for turn in turns:
        if turn.id is not None and turn.id in known:
            _agree(turn.id, turn, known[turn.id])


def _agree(id: str | None, turn: Turn, other: Turn | EventHead) -> None:
    if (turn.role, turn.content_hash) != (other.role, other.content_hash):
        raise Conflict(f"message id {id!r} was recorded before with different content: give new content an id of its own")
