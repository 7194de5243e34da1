"""Planner: decides what a storage budget leaves of an owner's memories; pure, over all of them at once (MEM-6).

The steps come in this order, and each goes only as far as the budget asks: duplicates are merged, the oldest episodes are
compressed into notes, vectors are dropped, and then memories are evicted. Preferences and behaviors are what a person asked
for: they are never evicted, and nothing that is pinned is touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from germane.memories.consolidation.holding import Holding

__all__ = [
    "EVICTED",
    "NOTE_BYTES",
    "Compressed",
    "ConsolidationPlan",
    "Eviction",
    "Merged",
    "StorageBudget",
    "plan_consolidation",
]

EVICTED = ("episode", "note", "procedure", "fact")
"""The kinds that are evicted, in this order."""
NOTE_BYTES = 700
"""What a note takes besides its text: its fields, terms and vector."""
_GROUP = 16
"""Episodes in one note at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageBudget:
    """At most so many memories, and bytes; None for no limit."""

    max_memories: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """`kept` says what `ids` said too; these are forgotten."""

    kept: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """The episodes `ids`, oldest first, become one note of their first sentences. `note` is its id; '' before it is made."""

    ids: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """`reason` is `ended` (superseded or expired), or `least_valuable` of its kind, with its `worth`."""

    id: str
    kind: str
    reason: str
    worth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlan:
    """What is to be done. `memories` and `bytes` are what will be left; the bytes of notes are estimated."""

    merged: tuple[Merged, ...] = ()
    compressed: tuple[Compressed, ...] = ()
    vectors: tuple[str, ...] = ()
    evicted: tuple[Eviction, ...] = ()
    memories: int = 0
    bytes: int = 0
    fits: bool = True


@dataclass(slots=True)
class _Left:
    """What is left while the planner works."""

    budget: StorageBudget
    memories: int = 0
    bytes: int = 0
    held: dict[str, Holding] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        few = self.budget.max_memories is None or self.memories <= self.budget.max_memories
        return few and self.fits_bytes

    @property
    def fits_bytes(self) -> bool:
        return self.budget.max_bytes is None or self.bytes <= self.budget.max_bytes

    def remove(self, one: Holding) -> None:
        del self.held[one.id]
        self.memories, self.bytes = self.memories - 1, self.bytes - one.bytes


def plan_consolidation(holdings: Iterable[Holding], budget: StorageBudget) -> ConsolidationPlan:
    """Returns the smallest plan, in the order of the steps, after which the holdings fit; nothing where they fit already.
    `fits` is false where even all that may go isn't enough. n log n in the number of holdings."""
    held = {one.id: one for one in holdings}
    left = _Left(budget, len(held), sum(one.bytes for one in held.values()), held)
    merged = tuple(_merged(left))
    groups = _compressed(left)
    vectors = _dropped(left)
    evicted = tuple(_evicted(left, groups))
    return ConsolidationPlan(
        merged=merged,
        compressed=tuple(Compressed(ids=tuple(one.id for one in group)) for group in groups.values()),
        vectors=tuple(id for id in vectors if id in left.held),
        evicted=evicted,
        memories=left.memories,
        bytes=left.bytes,
        fits=left.fits,
    )


def _merged(left: _Left) -> Iterator[Merged]:
    """Merges what says the same: equal facts and equal texts first, then near-duplicates of the same kind. The most valuable
    one is kept."""
    same: dict[tuple[object, ...], list[Holding]] = {}
    for one in left.held.values():
        if one.same and not one.ended:
            same.setdefault(one.same, []).append(one)
    equal = [group for group in same.values() if len(group) > 1]
    for group in [*equal, *_near(left)]:
        if left.fits:
            return
        some = sorted((one for one in group if one.id in left.held), key=lambda one: (one.pinned, *one.order), reverse=True)
        gone = [one for one in some[1:] if not one.pinned]
        if gone:
            for one in gone:
                left.remove(one)
            yield Merged(kept=some[0].id, ids=tuple(one.id for one in gone))


def _near(left: _Left) -> Iterator[list[Holding]]:
    """A memory with its near-duplicates of the same kind, for each that still has some; the most valuable first."""
    linked = [one for one in left.held.values() if one.near and not one.ended]
    for one in sorted(linked, key=lambda one: (one.pinned, *one.order), reverse=True):
        others = [left.held[id] for id in one.near if id in left.held]
        yield [one, *(other for other in others if other.kind == one.kind and not other.ended)]


def _compressed(left: _Left) -> dict[str, list[Holding]]:
    """Groups the oldest episodes, each group of one sensitivity; by the id of a group's first episode."""
    groups: dict[str, list[Holding]] = {}
    episodes = [one for one in left.held.values() if one.kind == "episode" and not one.pinned and not one.ended]
    by_sensitivity: dict[str, list[Holding]] = {}
    for one in sorted(episodes, key=lambda one: (one.age, one.id)):
        group = by_sensitivity.setdefault(one.sensitivity, [])
        group.append(one)
        if len(group) < _GROUP:
            continue
        if left.fits:
            break
        by_sensitivity[one.sensitivity] = []
        size = _note_bytes(group)
        if size < sum(member.bytes for member in group) or left.budget.max_memories is not None:
            for member in group:
                left.remove(member)
            left.memories, left.bytes = left.memories + 1, left.bytes + size
            groups[group[0].id] = group
    return groups


def _note_bytes(group: Sequence[Holding]) -> int:
    """The text is stored, and so are four bytes for each of its words, some six characters each, and the ids."""
    return NOTE_BYTES + sum(2 * len(one.opening.encode()) + 48 for one in group)


def _dropped(left: _Left) -> list[str]:
    """Drops the vectors of the least valuable memories; keywords find these still."""
    dropped = list[str]()
    for one in sorted(left.held.values(), key=lambda one: one.order):
        if left.fits_bytes:
            break
        if one.vector_bytes and not one.pinned:
            left.bytes -= one.vector_bytes
            left.held[one.id] = _without_vector(one)
            dropped.append(one.id)
    return dropped


def _without_vector(one: Holding) -> Holding:
    return Holding(
        id=one.id,
        kind=one.kind,
        bytes=one.bytes - one.vector_bytes,
        vector_bytes=0,
        pinned=one.pinned,
        ended=one.ended,
        worth=one.worth,
        age=one.age,
    )


def _evicted(left: _Left, groups: dict[str, list[Holding]]) -> Iterator[Eviction]:
    """Evicts kind by kind. A note that is only planned counts as a note; where it would be evicted, its episodes are evicted in
    its place, and it is never made."""
    for kind in EVICTED:
        some: list[tuple[tuple[object, ...], Holding | None, str]] = [
            (one.order, one, "") for one in left.held.values() if one.kind == kind and not one.pinned
        ]
        if kind == "note":
            some += [((True, _worth(group), group[0].age, first), None, first) for first, group in groups.items()]
        for _, one, first in sorted(some, key=lambda entry: entry[0]):
            if left.fits:
                return
            if one is not None:
                left.remove(one)
                yield _evicted_one(one)
            else:
                group = groups.pop(first)
                left.memories, left.bytes = left.memories - 1, left.bytes - _note_bytes(group)
                yield from map(_evicted_one, group)


def _worth(group: Sequence[Holding]) -> float:
    return sum(one.worth for one in group) / len(group)


def _evicted_one(one: Holding) -> Eviction:
    return Eviction(id=one.id, kind=one.kind, reason="ended" if one.ended else "least_valuable", worth=one.worth)
