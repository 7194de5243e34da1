"""Alignment: finds the messages of a call that the session holds already, from the session's last events.

People repeat themselves: "ok", "yes", and the assistant's short answers to these. Without ids and times, such a repeat has
the same words as a request that is sent again. What is left to tell them apart is the position of what matches and the time
since it was stored; where both leave a doubt, the result says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from germane.kinds.events.value import EventHead
from germane.kinds.messages.prepared import PreparedMessage

RETRY_TIME = timedelta(seconds=10)
"""How long after a message was stored the same message counts as a retry of its call, where nothing else tells. Retries follow
a time-out within seconds; a person has to read an answer before they repeat themselves."""
_MAX_REPEATED = 200
"""Characters of a text that a person may well say twice. A longer one that comes again was sent again."""

_Numbers = dict[tuple[str, str | int], int]


@dataclass(frozen=True, slots=True)
class Resent:
    """Indexes of messages of one call. `held` are those that the session holds already; `assumed_resent`, a part of these, and
    `assumed_new`, which aren't held, are those of which neither position nor time tells whether they were sent again."""

    held: frozenset[int] = frozenset()
    assumed_resent: frozenset[int] = frozenset()
    assumed_new: frozenset[int] = frozenset()


def find_resent(
    prepared: Sequence[PreparedMessage],
    tail: Sequence[EventHead],
    length: int,
    *,
    whole: bool,
    now: datetime,
    retry: timedelta | None = RETRY_TIME,
) -> Resent:
    """Returns which of the `prepared` messages the session holds. `tail` are the session's last events (`whole`: all of them),
    `length` is its next position. With `retry` None, whatever matches was sent again, however long ago.

    A position without an event was forgotten: it matches any message, so that a forgotten message doesn't come back when it is
    sent again. Events that aren't messages are skipped.
    """
    if not any(event.role for event in tail):
        return Resent()
    numbers: _Numbers = {}
    keys: list[int] = []
    times: list[int] = []
    stored_at: list[datetime | None] = []
    next_position = 0 if whole else tail[0].position
    for event in tail:
        keys += [FORGOTTEN] * (event.position - next_position)
        times += [UNTIMED] * (event.position - next_position)
        stored_at += [None] * (event.position - next_position)
        next_position = event.position + 1
        if event.role:
            keys.append(_number(numbers, event))
            if event.kept_hash is not None:
                numbers.setdefault(("", event.kept_hash), keys[-1])
            times.append(_milliseconds(None if event.created_at == event.recorded_at else event.created_at))
            stored_at.append(event.recorded_at)
    missing = length - next_position
    keys += [FORGOTTEN] * missing
    known: dict[str | None, int] = {event.message_id: numbers["id", event.message_id] for event in tail if event.message_id}
    sent_keys = [_number(numbers, message) for message in prepared]
    if sent_keys[0] not in keys and FORGOTTEN not in keys and not any(message.id in known for message in prepared):
        return Resent()  # none of them is known by its id, and no stored message can be the first of them
    sent = MessageKeys.of(sent_keys, [_milliseconds(message.created_at) for message in prepared])
    stored = MessageKeys.of(keys, times + [UNTIMED] * missing)
    since = None if retry is None else now - retry
    found = _leading(prepared, sent, stored, stored_at + [None] * missing, whole=whole, since=since)
    beside = _neighbours(prepared, sent, stored, known)
    return Resent(found.held | beside, found.assumed_resent - beside, found.assumed_new - beside)


def _leading(
    prepared: Sequence[PreparedMessage],
    sent: MessageKeys,
    stored: MessageKeys,
    stored_at: Sequence[datetime | None],
    *,
    whole: bool,
    since: datetime | None,
) -> Resent:
    """Returns how many messages at the beginning of `sent` are in `stored`: at its end or, where `stored` is the `whole`
    session, at its beginning. The longer of the two matches counts.

    A match of which each message came with an id or a time is certain, and so are a match of more than a turn and one of the
    whole session where the list goes on. Any other match counts as sent again where the list goes on from the session's end or
    holds more than a turn, and where the match was stored after `since`; else it counts as new.
    """
    at_end = overlap(sent, stored)
    at_beginning = common_beginning(sent, stored) if whole else 0
    doubtful = frozenset[int]()
    for count, first in sorted({(at_end, len(stored) - at_end), (at_beginning, 0)}, reverse=True):
        if not count:
            continue
        matched = frozenset(range(count))
        to_the_end = first + count == len(stored)
        goes_on = count < len(sent)
        timed = (sent.times[:count] != UNTIMED) & (stored.times[first : first + count] != UNTIMED)
        named = [message.id is not None for message in prepared[:count]]
        if since is None or bool((timed | named).all()) or not _may_be_said_twice(prepared[:count]):
            return Resent(matched)
        if whole and not first and to_the_end and goes_on:
            return Resent(matched)
        extends = goes_on and (to_the_end or _questions(prepared) > 1)
        if extends or any(at is not None and at >= since for at in stored_at[first : first + count]):
            return Resent(matched, assumed_resent=matched, assumed_new=doubtful - matched)
        doubtful |= matched
    return Resent(assumed_new=doubtful)


def _may_be_said_twice(matched: Sequence[PreparedMessage]) -> bool:
    """Whether this is at most one turn, with a short question or without one."""
    said = [message for message in matched if message.type == "user_message"] or matched
    return _questions(matched) <= 1 and all(len(message.text) <= _MAX_REPEATED for message in said)


def _questions(messages: Sequence[PreparedMessage]) -> int:
    return sum(message.type == "user_message" for message in messages)


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
    if id is None and isinstance(message, PreparedMessage) and message.earlier_hash is not None:
        known = numbers.get(("", message.earlier_hash))
        if known is not None and ("", message.content_hash) not in numbers:
            return known
    return numbers.setdefault(("", message.content_hash) if id is None else ("id", id), len(numbers))


def _milliseconds(moment: datetime | None) -> int:
    return UNTIMED if moment is None else round(moment.timestamp() * 1000)


# How much of a stored session's end, or of its beginning, a list begins with: arithmetic over arrays of message keys
# (equal keys mean equal messages) and times. Deliberately not a diff: stored messages are never reordered or removed.


FORGOTTEN = -1
"""The key of a stored message that was forgotten: it matches any message."""
UNTIMED = np.iinfo(np.int64).min
"""The time of a message without a time of its own: it matches any time."""


@dataclass(frozen=True, slots=True)
class MessageKeys:
    """Messages in order, as two arrays of one length: their keys, and their times in milliseconds since the epoch."""

    keys: NDArray[np.int64]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, keys: Sequence[int], times: Sequence[int]) -> MessageKeys:
        return cls(np.array(keys, dtype=np.int64), np.array(times, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, part: slice) -> MessageKeys:
        return MessageKeys(self.keys[part], self.times[part])


def _fits(sent: MessageKeys, stored: MessageKeys) -> NDArray[np.bool_]:
    """Elementwise: whether the two may be the same message."""
    same = (sent.keys == stored.keys) | (stored.keys == FORGOTTEN)
    untimed = (sent.times == UNTIMED) | (stored.times == UNTIMED)
    return np.asarray(same & (untimed | (sent.times == stored.times)))


def common_beginning(sent: MessageKeys, stored: MessageKeys) -> int:
    """Returns the length of the common beginning, up to its last message that is still kept; 0 where fewer than two are."""
    length = min(len(sent), len(stored))
    fits = _fits(sent[:length], stored[:length])
    length = length if fits.all() else int(np.argmin(fits))
    there = np.flatnonzero(stored.keys[:length] != FORGOTTEN)
    return int(there[-1]) + 1 if len(there) >= 2 else 0


def overlap(sent: MessageKeys, stored: MessageKeys) -> int:
    """Returns the length of the longest end of `stored` that `sent` begins with and of which a message is still kept.

    The longest candidate is compared as a whole. The place where it fails last (counted from the end) is then checked in all
    other candidates at once, which leaves few of them: so the work stays near linear even where most messages are alike.
    """
    there = np.flatnonzero(stored.keys != FORGOTTEN)
    if not len(there):
        return 0
    shortest = len(stored) - int(there[-1])
    lengths = np.arange(min(len(sent), len(stored)), shortest - 1, -1)
    from_end = shortest
    while len(lengths):
        shorter = lengths < from_end
        index = np.where(shorter, 0, lengths - from_end)
        one = stored[len(stored) - from_end : len(stored) - from_end + 1]
        lengths = lengths[shorter | _fits(MessageKeys(sent.keys[index], sent.times[index]), one)]
        if not len(lengths):
            break
        length = int(lengths[0])
        fits = _fits(sent[:length], stored[len(stored) - length :])
        if fits.all():
            return length
        from_end = length - int(np.flatnonzero(~fits)[-1])
    return 0
