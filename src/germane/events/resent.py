"""Resent: which turns of a call the session holds already, as far as its last events tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from germane.events.alignment import GONE, UNTIMED, Line, aligned
from germane.events.event import EventHead
from germane.events.turn import Turn

__all__ = ["resent"]

_Numbers = dict[tuple[str, str | int], int]


def resent(turns: Sequence[Turn], tail: Sequence[EventHead], length: int, *, whole: bool) -> set[int]:
    """The places in `turns` that the session holds. `tail` are its last events (all of them: `whole`), `length` is the
    position that comes next.

    Positions that no event has were forgotten: they stand open, since they may have held what is sent again and must not
    come back. Events that aren't messages are passed over.
    """
    if not any(event.role for event in tail):
        return set()
    numbers: _Numbers = {}
    said = Line.of([_number(numbers, turn) for turn in turns], [_milliseconds(turn.created_at) for turn in turns])
    keys: list[int] = []
    times: list[int] = []
    next_position = 0 if whole else tail[0].position
    for event in tail:
        keys += [GONE] * (event.position - next_position)
        times += [UNTIMED] * (event.position - next_position)
        next_position = event.position + 1
        if event.role:
            keys.append(_number(numbers, event))
            times.append(_milliseconds(None if event.created_at == event.recorded_at else event.created_at))
    gone = length - next_position
    stored = Line.of(keys + [GONE] * gone, times + [UNTIMED] * gone)
    held = set(range(aligned(said, stored, whole=whole)))
    return held | _beside(
        turns, said, stored, {event.message_id: numbers["id", event.message_id] for event in tail if event.message_id}
    )


def _beside(turns: Sequence[Turn], said: Line, stored: Line, known: dict[str | None, int]) -> set[int]:
    """Turns without an id that stand beside one known by its id, in the list as in the store, in either direction."""
    where = {int(key): place for place, key in enumerate(stored.keys)}
    anchors = [(place, where[known[turn.id]]) for place, turn in enumerate(turns) if turn.id in known]
    held: set[int] = set()
    for step in (1, -1):
        for place, at in anchors if step == 1 else reversed(anchors):
            place, at = place + step, at + step
            while (
                0 <= place < len(turns)
                and 0 <= at < len(stored)
                and turns[place].id is None
                and stored.keys[at] in (said.keys[place], GONE)
                and (UNTIMED in (said.times[place], stored.times[at]) or said.times[place] == stored.times[at])
            ):
                held.add(place)
                place, at = place + step, at + step
    return held


def _number(numbers: _Numbers, message: Turn | EventHead) -> int:
    """Equal for equal messages: by the caller's id where there is one, else by role and content."""
    id = message.id if isinstance(message, Turn) else message.message_id
    return numbers.setdefault(("", message.content_hash) if id is None else ("id", id), len(numbers))


def _milliseconds(moment: datetime | None) -> int:
    return UNTIMED if moment is None else round(moment.timestamp() * 1000)
