"""Steps: the plans that carry a consolidation out, a slice at a time; each commit is complete in itself.

A slice reads its memories again: what was changed, pinned or forgotten since the planner saw it is left alone. A note is
stored in the commit that forgets its episodes, and a merged memory in the commit that forgets the others. What was made of
what goes takes over how it could be found (`succession.py`).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.memories.consolidation.planner import Compressed, Eviction, Merged
from germane.memories.consolidation.succession import succeeding
from germane.memories.memory import Episode, Fact, Memory
from germane.memories.operations import DerivedFrom, DropVectors, Forget, MemoriesById, PutMemory
from germane.memories.remember import SENSITIVITIES, new_memory
from germane.text.normal import fold
from germane.types.candidate import Provenance
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope

__all__ = ["compress", "drop_vectors", "evict", "merge", "opening", "same_as"]

REASON = "consolidated"
"""What the tombstones say."""
_OPENING = 160
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
    text = " ".join(memory.text[: 4 * _OPENING].split())
    found = _SENTENCE_END.search(text)
    sentence = text[: found.end()] if found else text
    return sentence if len(sentence) <= _OPENING else f"{sentence[: _OPENING - 1].rsplit(' ', 1)[0]}…"


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
            united = succeeding(united, tagged)
        if united != kept:
            changes.append(PutMemory(replace(united, updated_at=at)))
        ids = tuple(memory.id for memory in others)
        changes += yield from _bequeathed(others, at)
        changes.append(Forget(memory_ids=ids, replaced=True, at=at, by=by, reason=REASON))
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
        changes += [PutMemory(note), Forget(memory_ids=ids, replaced=True, at=at, by=by, reason=REASON)]
        done.append(Compressed(ids=ids, note=note.id))
    return Decision(tuple(changes), tuple(done))


def evict(evicted: Sequence[Eviction], *, at: datetime, by: str) -> Plan[tuple[Eviction, ...]]:
    """Forgets these memories, except those that were pinned meanwhile. The outcome is what was evicted."""
    found = yield from read(MemoriesById(tuple(one.id for one in evicted)))
    done = tuple(one for one in evicted if one.id in found and not found[one.id].pinned)
    if not done:
        return Decision((), done)
    heirs = yield from _bequeathed([found[one.id] for one in done], at)
    gone = Forget(memory_ids=tuple(one.id for one in done), replaced=True, at=at, by=by, reason=REASON)
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
        PutMemory(replace(succeeding(memory, sources) if sources else memory, stale_since=memory.stale_since or at))
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
            source_kind="system", refs=tuple(memory.id for memory in episodes), metadata={REASON: len(episodes)}
        ),
        given={
            "title": f"{len(episodes)} episodes, {days[0]} to {days[-1]}",
            "tags": sorted({tag for memory in episodes for tag in memory.tags})[:256],
            "sensitivity": max((memory.sensitivity for memory in episodes), key=SENSITIVITIES.index),
            "confidence": max(memory.confidence for memory in episodes),
            "valid_from": min(memory.valid_from for memory in episodes),
        },
    )
    return succeeding(note, episodes)


def _when(memory: Memory) -> datetime:
    happened = memory.content.occurred_at if isinstance(memory.content, Episode) else None
    return happened or memory.created_at
