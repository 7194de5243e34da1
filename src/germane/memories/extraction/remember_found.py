"""Remember found: stores what was extracted from messages, within the plan that records them.

An extracted memory yields to what was stated on purpose: it ends only facts that were extracted too, and it is never pinned.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.memories.extraction.correct_found import SaidCorrection, correct_found
from germane.memories.extraction.end_found import SaidEnding, end_found, end_opposite
from germane.memories.extraction.exclusive import alternatives
from germane.memories.extraction.extracted import is_extracted
from germane.memories.extraction.pending_memories import PendingMemories
from germane.memories.memory import Behavior, Fact, Memory
from germane.memories.operations import EndMemory, MemoriesByHash
from germane.memories.remember import hash_of, repeats
from germane.types.plan import Read, read

__all__ = ["remember_found"]


def remember_found(
    found: Sequence[Memory], endings: Sequence[SaidEnding] = (), corrections: Sequence[SaidCorrection] = ()
) -> Generator[Read[Any], Any, PendingMemories]:
    """Decides what new messages change: which of the memories `found` in them are stored, and what the `endings` and
    `corrections` end, in the order in which they were said, each as if those before it were stored already. A memory that says
    what a valid one says only waits behind that one; one about a key of which something was stated on purpose adds nothing.
    Yields the reads; returns what was decided."""
    pending = PendingMemories()
    for _, said in sorted(_in_order(found, endings, corrections), key=lambda one: one[0]):
        match said:
            case SaidEnding():
                yield from end_found(said, pending)
            case SaidCorrection():
                yield from correct_found(said, pending)
            case _:
                yield from _remember(said, pending)
    return pending


def _in_order(
    found: Sequence[Memory], endings: Sequence[SaidEnding], corrections: Sequence[SaidCorrection]
) -> Iterator[tuple[tuple[datetime, int], Memory | SaidEnding | SaidCorrection]]:
    """The statements with what orders them. What a message states comes before what it ends: "I left Globex, I'm at Initech
    now"."""
    yield from (((memory.valid_from, 0), memory) for memory in found)
    yield from (((one.said_at, 1), one) for one in corrections)
    yield from (((one.said_at, 2), one) for one in endings)


def _remember(memory: Memory, pending: PendingMemories) -> Generator[Read[Any], Any, None]:
    same = yield from read(MemoriesByHash(memory.content_hash, min(memory.valid_from, memory.created_at)))
    twins = [*pending.now(same), *(one for one in pending.new.values() if one.content_hash == memory.content_hash)]
    said = [twin for twin in twins if twin.kind == memory.kind and repeats(memory, twin)]
    if said:
        if all(is_extracted(one) and one.derived_from and not {*one.derived_from} & {*memory.derived_from} for one in said):
            pending.put_behind(memory, said[0])
        return
    if isinstance(memory.content, Fact):
        yield from pending.supersede(memory)
        return
    pending.put((yield from _among_alternatives(memory, pending)))
    yield from end_opposite(memory, pending)


def _among_alternatives(memory: Memory, pending: PendingMemories) -> Generator[Read[Any], Any, Memory]:
    """Of extracted instructions that can't be followed together, such as those of two languages, the later one holds. Ends the
    earlier ones; returns `memory`, which ends where a later one begins."""
    if not isinstance(memory.content, Behavior):
        return memory
    for text in alternatives(memory.text):
        hashed = hash_of(memory.kind, Behavior(text=text))
        stored = yield from read(MemoriesByHash(hashed, memory.valid_from))
        for other in (*pending.now(stored), *(one for one in pending.new.values() if one.content_hash == hashed)):
            if not isinstance(other.content, Behavior) or not is_extracted(other):
                continue
            if other.valid_from < memory.valid_from and other.holds(memory.valid_from):
                pending.end(EndMemory(id=other.id, at=memory.valid_from, superseded_by=memory.id))
            elif memory.valid_from < other.valid_from and (memory.valid_to is None or other.valid_from < memory.valid_to):
                memory = replace(memory, valid_to=other.valid_from, superseded_by=other.id)
    return memory
