"""Resent: finds the messages of a call that the session holds already, from the session's last events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from germane.events.alignment import FORGOTTEN, UNTIMED, MessageKeys, aligned
from germane.events.event import EventHead
from germane.events.prepared_message import PreparedMessage

__all__ = ["resent"]

_Numbers = dict[tuple[str, str | int], int]


def resent(prepared: Sequence[PreparedMessage], tail: Sequence[EventHead], length: int, *, whole: bool) -> set[int]:
    """Returns the indexes of those `prepared` messages that the session holds. `tail` are the session's last events (`whole`:
    all of them), `length` is its next position.

    A position without an event was forgotten: it matches any message, so that a forgotten message doesn't come back when it is
    sent again. Events that aren't messages are skipped.
    """
    if not any(event.role for event in tail):
        return set()
    numbers: _Numbers = {}
    keys: list[int] = []
    times: list[int] = []
    next_position = 0 if whole else tail[0].position
    for event in tail:
        keys += [FORGOTTEN] * (event.position - next_position)
        times += [UNTIMED] * (event.position - next_position)
        next_position = event.position + 1
        if event.role:
            keys.append(_number(numbers, event))
            if event.kept_hash is not None:
                numbers.setdefault(("", event.kept_hash), keys[-1])
            times.append(_milliseconds(None if event.created_at == event.recorded_at else event.created_at))
    missing = length - next_position
    keys += [FORGOTTEN] * missing
    known: dict[str | None, int] = {event.message_id: numbers["id", event.message_id] for event in tail if event.message_id}
    sent_keys = [_number(numbers, message) for message in prepared]
    if sent_keys[0] not in keys and FORGOTTEN not in keys and not any(message.id in known for message in prepared):
        return set()  # none of them is known by its id, and no stored message can be the first of them
    sent = MessageKeys.of(sent_keys, [_milliseconds(message.created_at) for message in prepared])
    stored = MessageKeys.of(keys, times + [UNTIMED] * missing)
    held = set(range(aligned(sent, stored, whole=whole)))
    return held | _neighbours(prepared, sent, stored, known)


def _neighbours(
    prepared: Sequence[PreparedMessage], sent: MessageKeys, stored: MessageKeys, known: dict[str | None, int]
) -> set[int]:
    """Indexes of messages without an id that stand beside a message known by its id, in the list as in the store, in either
    direction."""
    stored_at = {int(key): index for index, key in enumerate(stored.keys)}
    anchors = [(index, stored_at[known[message.id]]) for index, message in enumerate(prepared) if message.id in known]
    held: set[int] = set()
    for step in (1, -1):
        for i, j in anchors if step == 1 else reversed(anchors):
            i, j = i + step, j + step
            while (
                0 <= i < len(prepared)
                and 0 <= j < len(stored)
                and prepared[i].id is None
                and stored.keys[j] in (sent.keys[i], FORGOTTEN)
                and (UNTIMED in (sent.times[i], stored.times[j]) or sent.times[i] == stored.times[j])
            ):
                held.add(i)
                i, j = i + step, j + step
    return held


def _number(numbers: _Numbers, message: PreparedMessage | EventHead) -> int:
    """Returns a number that is equal for equal messages: by the caller's id where there is one, else by role and content."""
    id = message.id if isinstance(message, PreparedMessage) else message.message_id
    return numbers.setdefault(("", message.content_hash) if id is None else ("id", id), len(numbers))


def _milliseconds(moment: datetime | None) -> int:
    return UNTIMED if moment is None else round(moment.timestamp() * 1000)
