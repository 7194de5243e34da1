"""Placement: which stored passages a new version of a document keeps, and the positions of its new ones.

Positions leave gaps, so that a passage that is inserted gets one between those of its neighbours, and these stay as they are.
Where a gap is full, the passage behind it is stored anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

__all__ = ["GAP", "Placement", "place"]

GAP = 1_024
"""The distance between the positions of two passages that are stored together."""


class Placement(NamedTuple):
    """`kept` maps indexes of new passages to those of stored ones, `positions` the other new ones to their positions."""

    kept: dict[int, int]
    positions: dict[int, int]


def place(stored: Sequence[tuple[Hashable, int]], new: Sequence[Hashable]) -> Placement:
    """Returns how the new passages are placed; n·log n. `stored` are keys and rising positions, `new` are keys; equal keys mean
    equal passages. The order of those that are kept doesn't change."""
    taken = [position for _, position in stored]
    kept, positions, waiting = dict[int, int](), dict[int, int](), list[int]()
    before, after = -1, (taken[-1] if taken else 0)
    anchors = _anchors(stored, new)
    for index in range(len(new)):
        if index not in anchors:
            waiting.append(index)
            continue
        here = taken[anchors[index]]
        free = _between(taken, before, here, len(waiting))
        if free is None:
            waiting.append(index)
            continue
        positions.update(zip(waiting, free, strict=True))
        waiting, before = [], here
        kept[index] = anchors[index]
    positions.update((index, after + GAP * count) for count, index in enumerate(waiting, start=1))
    return Placement(kept, positions)


def _anchors(stored: Sequence[tuple[Hashable, int]], new: Sequence[Hashable]) -> dict[int, int]:
    """The longest run of equal passages that stand in the same order in both: new index → stored index."""
    where: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for number, (key, _) in enumerate(stored):
        where[key].append(number)
    pairs = [(index, where[key].popleft()) for index, key in enumerate(new) if where[key]]
    ends, tops, before = list[int](), list[int](), [-1] * len(pairs)
    for at, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        before[at] = tops[length - 1] if length else -1
        ends[length : length + 1] = [number]
        tops[length : length + 1] = [at]
    found, at = dict[int, int](), tops[-1] if tops else -1
    while at >= 0:
        found[pairs[at][0]] = pairs[at][1]
        at = before[at]
    return found


def _between(taken: Sequence[int], low: int, high: int, count: int) -> list[int] | None:
    """Returns `count` rising positions between two others that aren't taken, spread evenly where that is possible; None where
    there are too few."""
    occupied = taken[bisect_left(taken, low + 1) : bisect_left(taken, high)]
    if high - low - 1 - len(occupied) < count:
        return None
    closed, found = set(occupied), list[int]()
    for number in range(1, count + 1):
        place = max(low + (high - low) * number // (count + 1), found[-1] + 1 if found else low + 1)
        while place in closed:
            place += 1
        found.append(place)
    if found and found[-1] >= high:
        return list(_first(low, closed, count))
    return found


def _first(low: int, closed: set[int], count: int) -> Iterator[int]:
    place = low
    while count:
        place += 1
        if place not in closed:
            count -= 1
            yield place
