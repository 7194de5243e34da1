"""Origins: which of the messages given each message written is, for callers who keep objects of their own beside the dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from germane.dialects.dialect import OutgoingMessage

__all__ = ["origins"]


def origins(
    written: Sequence[Mapping[str, Any]], turns: Sequence[OutgoingMessage], indexes: Sequence[int]
) -> tuple[int | None, ...]:
    """Returns the index of each message of `written`: `indexes` has that of each turn, below 0 for germane's own. A turn's dict
    that was written unchanged is found as the same object. The others keep their order, so that what is left of the messages
    belongs to what is left of the turns; where their numbers differ, several were written as one, and the answer is None."""
    places: dict[int, list[int]] = {}
    for place, turn in enumerate(turns):
        if turn.native is not None:
            places.setdefault(id(turn.native), []).append(place)
    found: list[int | None] = []
    for message in written:
        same = places.get(id(message))
        found.append(same.pop(0) if same else None)
    known = set(found)
    left = [place for place in range(len(turns)) if place not in known]
    empty = [number for number, place in enumerate(found) if place is None]
    system = [place for place in left if turns[place].message.role == "system"]
    if len(empty) == len(left) - len(system):
        left = [place for place in left if place not in system]
    if len(empty) == len(left):
        for number, place in zip(empty, left, strict=True):
            found[number] = place
    return tuple(None if place is None or indexes[place] < 0 else indexes[place] for place in found)
