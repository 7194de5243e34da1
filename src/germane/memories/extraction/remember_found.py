"""Remember found: stores what was extracted from messages, within the plan that records them.

An extracted memory yields to what was stated on purpose: it ends only facts that were extracted too, and it is never pinned.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.memories.extraction.exclusive import alternatives
from germane.memories.memory import Behavior, Fact, Memory
from germane.memories.operations import EndMemory, FactsOnKey, MemoriesByHash, PutMemory
from germane.memories.remember import hash_of, new_memory, place, repeats
from germane.types.candidate import Provenance, Sensitivity
from germane.types.plan import Change, Read, read
from germane.types.scope import Scope

__all__ = ["extracted_memory", "is_extracted", "remember_found"]


def is_extracted(memory: Memory) -> bool:
    """Whether rules found the memory in a message."""
    return "extracted" in memory.provenance.metadata


def extracted_memory(
    text: str,
    *,
    kind: str,
    key: str,
    confidence: float,
    sensitivity: Sensitivity,
    source: str,
    said_at: datetime,
    provenance: Provenance,
    scope: Scope,
) -> Memory:
    """Returns the memory of one thing that the message with the id `source` stated at `said_at`. Its times are the message's,
    so that it is as old as what was said. Raises `InvalidInput` for a text or a key that a memory can't have."""
    given: dict[str, Any] = {"confidence": confidence, "sensitivity": sensitivity}
    if kind == "fact":
        given |= {"key": key, "observed_at": said_at}
    if kind == "episode":
        given |= {"occurred_at": said_at}
    memory = new_memory(
        text, kind=kind, scope=scope, now=said_at, provenance=provenance, given={**given, "valid_from": said_at}
    )
    return replace(memory, derived_from=(source,))


def remember_found(found: Sequence[Memory]) -> Generator[Read[Any], Any, tuple[Change, ...]]:
    """Decides which of the memories `found` in new messages are stored, in order, each as if those before it were stored
    already. One that says what a valid memory says, or what was stated on purpose about the same key, adds nothing. Yields the
    reads; returns the changes."""
    new: dict[str, Memory] = {}
    ended: dict[str, EndMemory] = {}
    for memory in found:
        same = yield from read(MemoriesByHash(memory.content_hash, min(memory.valid_from, memory.created_at)))
        if any(twin.kind == memory.kind and repeats(memory, twin) for twin in _now(same, new, ended, memory.content_hash)):
            continue
        if not isinstance(memory.content, Fact):
            new[memory.id] = yield from _among_alternatives(memory, new, ended)
            continue
        key = memory.content.key
        stored = yield from read(FactsOnKey(key, memory.valid_from))
        line = [
            *_now(stored, new, ended),
            *(one for one in new.values() if isinstance(one.content, Fact) and one.content.key == key),
        ]
        line = sorted((fact for fact in line if fact.valid_to is None or fact.valid_from < fact.valid_to), key=_begin)
        if any(not is_extracted(fact) and fact.holds(memory.valid_from) for fact in line):
            continue
        for change in place(memory, line).changes:
            if isinstance(change, PutMemory):
                new[memory.id] = change.memory
            elif isinstance(change, EndMemory):
                _end(change, new, ended)
    return (*map(PutMemory, new.values()), *ended.values())


def _among_alternatives(
    memory: Memory, new: dict[str, Memory], ended: dict[str, EndMemory]
) -> Generator[Read[Any], Any, Memory]:
    """Of extracted instructions that can't be followed together, such as those of two languages, the later one holds. Ends the
    earlier ones; returns `memory`, which ends where a later one begins."""
    if not isinstance(memory.content, Behavior):
        return memory
    for text in alternatives(memory.text):
        hashed = hash_of(memory.kind, Behavior(text=text))
        stored = yield from read(MemoriesByHash(hashed, memory.valid_from))
        for other in _now(stored, new, ended, hashed):
            if not isinstance(other.content, Behavior) or not is_extracted(other):
                continue
            if other.valid_from < memory.valid_from and other.holds(memory.valid_from):
                _end(EndMemory(id=other.id, at=memory.valid_from, superseded_by=memory.id), new, ended)
            elif memory.valid_from < other.valid_from and (memory.valid_to is None or other.valid_from < memory.valid_to):
                memory = replace(memory, valid_to=other.valid_from, superseded_by=other.id)
    return memory


def _end(change: EndMemory, new: dict[str, Memory], ended: dict[str, EndMemory]) -> None:
    if change.id in new:
        new[change.id] = replace(new[change.id], valid_to=change.at, superseded_by=change.superseded_by)
    else:
        ended[change.id] = change


def _begin(fact: Memory) -> datetime:
    return fact.valid_from


def _now(
    stored: Iterable[Memory], new: dict[str, Memory], ended: dict[str, EndMemory], hashed: int | None = None
) -> list[Memory]:
    """The stored memories as they will be with the changes so far and, of the new ones, those that are `hashed` so."""
    found = [
        replace(memory, valid_to=ended[memory.id].at, superseded_by=ended[memory.id].superseded_by)
        if memory.id in ended
        else memory
        for memory in stored
    ]
    return found + [memory for memory in new.values() if hashed is not None and memory.content_hash == hashed]
