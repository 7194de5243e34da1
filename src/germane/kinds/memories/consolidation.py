"""Consolidation: keeps the memories of one owner within a storage budget (MEM-6).

`plan_consolidation` decides over all memories at once and is pure. The steps come in this order, and each goes only as far
as the budget asks: duplicates are merged, the oldest episodes are compressed into notes, vectors are dropped, and then
memories are evicted. Preferences and behaviors are what a person asked for: they are never evicted, and nothing that is
pinned is touched.

The plans carry it out, a slice at a time; each commit is complete in itself. A slice reads its memories again: what was
changed, pinned or forgotten since the planner saw it is left alone. A note is stored in the commit that forgets its
episodes, and a merged memory in the commit that forgets the others.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from germane.kinds.memories.plans import SENSITIVITIES, new_memory
from germane.kinds.memories.reads import DerivedFrom, DropVectors, Forget, MemoriesById, PutMemory
from germane.kinds.memories.upkeep import Compressed, Eviction, Holding, Merged
from germane.kinds.memories.value import Episode, Fact, Memory
from germane.text.normal import fold
from germane.types.candidate import Provenance
from germane.types.limits import REFERENCES
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope

EVICTED_KINDS = ("episode", "note", "procedure", "fact")
"""The kinds that are evicted, in this order."""
NOTE_BYTES = 700
"""What a note takes besides its text: its fields, terms and vector."""
_MAX_EPISODES = 16
"""Episodes in one note at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageBudget:
    """At most so many memories, and bytes; None for no limit."""

    max_memories: int | None = None
    max_bytes: int | None = None


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
    for group in [*equal, *_near_duplicates(left)]:
        if left.fits:
            return
        some = sorted((one for one in group if one.id in left.held), key=lambda one: (one.pinned, *one.order), reverse=True)
        gone = [one for one in some[1:] if not one.pinned]
        if gone:
            for one in gone:
                left.remove(one)
            yield Merged(kept=some[0].id, ids=tuple(one.id for one in gone))


def _near_duplicates(left: _Left) -> Iterator[list[Holding]]:
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
        if len(group) < _MAX_EPISODES:
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
    for kind in EVICTED_KINDS:
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


# The plans of the steps.


_REASON = "consolidated"
"""What the tombstones say."""
_MAX_OPENING = 160
"""Characters of an episode that a note keeps."""
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？\n]")


def same_as(memory: Memory) -> tuple[object, ...]:
    """Returns a value that is equal for duplicates: facts of the same name and value, or equal texts of one kind."""
    if isinstance(memory.content, Fact):
        return "fact", fold(memory.content.key), repr(memory.content.value)
    return memory.kind, memory.content_hash


def opening(memory: Memory) -> str:
    """Returns the first sentence of an episode, at most 160 characters of it; '' for another kind."""
    if not isinstance(memory.content, Episode):
        return ""
    text = " ".join(memory.text[: 4 * _MAX_OPENING].split())
    found = _SENTENCE_END.search(text)
    sentence = text[: found.end()] if found else text
    return sentence if len(sentence) <= _MAX_OPENING else f"{sentence[: _MAX_OPENING - 1].rsplit(' ', 1)[0]}…"


def merge(merged: Sequence[Merged], *, at: datetime, by: str) -> Plan[tuple[Merged, ...]]:
    """Keeps one memory of each group, with the tags, votes and retrievals of all and the strictest sensitivity, and forgets the
    others. It was made of those whose tags it gets; that another one said the same makes it none of its. The outcome is what
    was merged."""
    found = yield from read(MemoriesById(tuple(id for one in merged for id in (one.kept, *one.ids))))
    changes, done = list[Change](), list[Merged]()
    for one in merged:
        kept = found.get(one.kept)
        others = [found[id] for id in one.ids if id in found and not found[id].pinned]
        if kept is None or not others:
            continue
        together = [kept, *others]
        united = replace(
            kept,
            tags=tuple(sorted({tag for memory in together for tag in memory.tags})),
            sensitivity=max((memory.sensitivity for memory in together), key=SENSITIVITIES.index),
            confidence=max(memory.confidence for memory in together),
            helpful=sum(memory.helpful for memory in together),
            harmful=sum(memory.harmful for memory in together),
            retrieval_count=sum(memory.retrieval_count for memory in together),
        )
        if tagged := [memory for memory in others if not set(memory.tags) <= set(kept.tags)]:
            united = with_sources_of(united, tagged)
        if united != kept:
            changes.append(PutMemory(replace(united, updated_at=at)))
        ids = tuple(memory.id for memory in others)
        changes += yield from _bequeathed(others, at)
        changes.append(Forget(memory_ids=ids, replaced=True, at=at, by=by, reason=_REASON))
        done.append(Merged(kept=kept.id, ids=ids))
    return Decision(tuple(changes), tuple(done))


def compress(groups: Sequence[Compressed], *, scope: Scope, at: datetime, by: str) -> Plan[tuple[Compressed, ...]]:
    """Makes a note of each group of episodes, whose provenance keeps their ids, and forgets the episodes. The outcome is what
    was compressed."""
    found = yield from read(MemoriesById(tuple(id for group in groups for id in group.ids)))
    changes, done = list[Change](), list[Compressed]()
    for group in groups:
        episodes = [found[id] for id in group.ids if id in found and not found[id].pinned and found[id].kind == "episode"]
        if not episodes:
            continue
        note = _note(episodes, scope, at)
        ids = tuple(memory.id for memory in episodes)
        changes += yield from _bequeathed(episodes, at)
        changes += [PutMemory(note), Forget(memory_ids=ids, replaced=True, at=at, by=by, reason=_REASON)]
        done.append(Compressed(ids=ids, note=note.id))
    return Decision(tuple(changes), tuple(done))


def evict(evicted: Sequence[Eviction], *, at: datetime, by: str) -> Plan[tuple[Eviction, ...]]:
    """Forgets these memories, except those that were pinned meanwhile. The outcome is what was evicted."""
    found = yield from read(MemoriesById(tuple(one.id for one in evicted)))
    done = tuple(one for one in evicted if one.id in found and not found[one.id].pinned)
    if not done:
        return Decision((), done)
    heirs = yield from _bequeathed([found[one.id] for one in done], at)
    gone = Forget(memory_ids=tuple(one.id for one in done), replaced=True, at=at, by=by, reason=_REASON)
    return Decision((*heirs, gone), done)


def drop_vectors(ids: Sequence[str]) -> Plan[tuple[str, ...]]:
    """Removes the vectors of these memories; the outcome is `ids`."""
    yield from ()
    return Decision((DropVectors(tuple(ids)),), tuple(ids))


def _bequeathed(gone: Sequence[Memory], at: datetime) -> Generator[Read[Any], Any, list[Change]]:
    """What was made of these memories, which go: it stays, and is stale. Yields the reads."""
    ids = {memory.id for memory in gone}
    made = yield from read(DerivedFrom(tuple(ids)))
    return [
        PutMemory(replace(with_sources_of(memory, sources) if sources else memory, stale_since=memory.stale_since or at))
        for memory in made
        if memory.id not in ids
        for sources in ([one for one in gone if one.id in memory.derived_from],)
    ]


def _note(episodes: Sequence[Memory], scope: Scope, at: datetime) -> Memory:
    days = [_when(memory).date().isoformat() for memory in episodes]
    body = "\n".join(f"{day}: {opening(memory)}" for day, memory in zip(days, episodes, strict=True))
    note = new_memory(
        body,
        kind="note",
        scope=scope,
        now=at,
        provenance=Provenance(
            source_kind="system", refs=tuple(memory.id for memory in episodes), metadata={_REASON: len(episodes)}
        ),
        given={
            "title": f"{len(episodes)} episodes, {days[0]} to {days[-1]}",
            "tags": sorted({tag for memory in episodes for tag in memory.tags})[:256],
            "sensitivity": max((memory.sensitivity for memory in episodes), key=SENSITIVITIES.index),
            "confidence": max(memory.confidence for memory in episodes),
            "valid_from": min(memory.valid_from for memory in episodes),
        },
    )
    return with_sources_of(note, episodes)


def _when(memory: Memory) -> datetime:
    happened = memory.content.occurred_at if isinstance(memory.content, Episode) else None
    return happened or memory.created_at


# What was made of a removed memory stays, and must be forgotten as the removed one would be. So it takes over its
# sources, and by what somebody may ask to forget it: session, channel, kind of source, message, key and tags.


REPLACED = "replaced"
"""The name under which a memory's provenance says what became of its sources."""


def with_sources_of(memory: Memory, gone: Sequence[Memory]) -> Memory:
    """Returns `memory`, which was made of those that are `gone`, with their sources and with what they could be found by."""
    sources = [*memory.derived_from, *(id for one in gone for id in (one.id, *one.derived_from))]
    told = [*_told(memory), *(entry for one in gone for entry in (_findable(one), *_told(one)))]
    origin: Provenance = replace(memory.provenance, metadata={**memory.provenance.metadata, REPLACED: told})
    return replace(memory, derived_from=tuple(dict.fromkeys(sources))[: REFERENCES.maximum], provenance=origin)


def _findable(memory: Memory) -> dict[str, Any]:
    origin = memory.provenance
    found = {
        "id": memory.id,
        "session": origin.session,
        "channel": origin.channel,
        "source_kind": origin.source_kind,
        "message_id": origin.message_id,
        "key": memory.content.key if isinstance(memory.content, Fact) else None,
        "tags": list(memory.tags) or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _told(memory: Memory) -> Iterable[Any]:
    told = memory.provenance.metadata.get(REPLACED, ())
    return told if isinstance(told, list | tuple) else ()
