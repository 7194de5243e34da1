"""End found: ends the memories that a person's statement ends, within the plan that records it (`endings.py` finds the
statement).

What is meant is told by words: those of the memory and those of the statement must be nearly the same, but for what belongs to
the memory's own key. Only extracted memories end; what was stated on purpose stays, beside a conflict for a person to decide,
and so do all of several that may be meant. What ended a memory is a memory too: the statement in its own words, of the same
kind.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from germane.memories.extraction.ended_by import Meant, how_meant, opposite
from germane.memories.extraction.endings import Ending
from germane.memories.extraction.extracted import VERSION, extracted_memory, is_extracted
from germane.memories.extraction.pending_memories import PendingMemories
from germane.memories.memory import Fact, Memory, Preference
from germane.memories.operations import EndMemory, MemoriesById, MemoriesWith, PutConflict
from germane.memories.written_line import written_line
from germane.text.analyse import query_terms, term_hash
from germane.types.candidate import Provenance, Sensitivity
from germane.types.plan import Read, read
from germane.types.query import Term
from germane.types.scope import Scope

__all__ = ["SaidEnding", "end_found", "end_meant", "end_opposite"]

_CONFIDENCE = 0.7
_MAX_DOUBTS = 3
"""Conflicts that one statement may leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidEnding:
    """An ending with the message that said it: its id, its time, and where it came from. `also` are other messages whose words
    it has."""

    ending: Ending
    source: str
    said_at: datetime
    sensitivity: Sensitivity
    provenance: Provenance
    scope: Scope
    also: tuple[str, ...] = ()

    def as_memory(self, kind: str, key: str = "") -> Memory:
        """The statement as a memory. Raises `InvalidInput` for a text that a memory can't have."""
        found = {"extracted": "ending", "version": VERSION, "share": self.ending.share}
        memory = extracted_memory(
            self.ending.text,
            kind=kind,
            key=key,
            confidence=_CONFIDENCE,
            sensitivity=self.sensitivity,
            source=self.source,
            said_at=self.said_at,
            provenance=replace(self.provenance, metadata={**found, **self.provenance.metadata}),
            scope=self.scope,
        )
        return replace(memory, derived_from=(self.source, *self.also)) if self.also else memory


def end_found(said: SaidEnding, pending: PendingMemories) -> Generator[Read[Any], Any, None]:
    """Ends what the statement ends. Yields the reads."""
    if said.ending.kind == "changed" or not said.ending.terms:
        return
    speaker = said.provenance.speaker
    some = yield from _holding(said.ending.terms, said.said_at, pending)
    meant: dict[Meant, list[Memory]] = {"sure": [], "likely": []}
    for memory in some:
        if said.source in memory.derived_from or memory.provenance.speaker not in ("", speaker):
            continue
        how = how_meant(said.ending, memory, str(speaker))
        if how is not None:
            meant[how].append(memory)
    chosen = meant["sure"] or meant["likely"]
    yield from end_meant(said, chosen, pending, sure=bool(meant["sure"]) or len(chosen) == 1)


def end_meant(
    said: SaidEnding, meant: Sequence[Memory], pending: PendingMemories, *, sure: bool = True
) -> Generator[Read[Any], Any, None]:
    """Ends those of the memories `meant` that were extracted; what was stated on purpose is left to a person to decide, and all
    of them where it isn't `sure` which are meant. Yields the reads."""
    certain = [memory for memory in meant if sure and is_extracted(memory)]
    doubtful = [memory for memory in meant if not (sure and is_extracted(memory))]
    last: Memory | None = None
    for memory in certain:
        last = (yield from _end(said, memory, pending)) or last
        for part in (yield from _parts(memory, said.said_at, pending)):
            yield from _end(said, part, pending)
    if doubtful:
        last = last or _kept(said.as_memory("note"), pending)
        for memory in doubtful[:_MAX_DOUBTS]:
            pending.doubt(PutConflict(older=memory.id, newer=last.id, reason="ended", at=said.said_at))


def end_opposite(memory: Memory, pending: PendingMemories) -> Generator[Read[Any], Any, None]:
    """Ends what a new preference contradicts: who hates Chinese food loves it no longer. Yields the reads."""
    if not isinstance(memory.content, Preference):
        return
    for other in (yield from _holding(query_terms(memory.text), memory.valid_from, pending)):
        if other.id == memory.id or not opposite(memory.text, other) or set(other.derived_from) & set(memory.derived_from):
            continue
        if is_extracted(other):
            for one in (other, *(yield from _parts(other, memory.valid_from, pending))):
                pending.outdate(one, memory.derived_from[0])
                pending.end(EndMemory(id=one.id, at=memory.valid_from, superseded_by=memory.id))
        else:
            pending.doubt(PutConflict(older=other.id, newer=memory.id, reason="negation", at=memory.valid_from))


def _parts(memory: Memory, at: datetime, pending: PendingMemories) -> Generator[Read[Any], Any, list[Memory]]:
    """The memories that hold at that time and in whose place the memory stands, or one of these: they end with it."""
    parts, ids = dict[str, Memory](), written_line(memory).replaces
    while ids:
        found = yield from read(MemoriesById(ids))
        now = [one for one in pending.now(found.values()) if one.id not in parts and one.id != memory.id and is_extracted(one)]
        parts |= {one.id: one for one in now}
        ids = tuple(id for one in now for id in written_line(one).replaces)
    return [one for one in parts.values() if one.holds(at)]


def _holding(terms: Iterable[Term], at: datetime, pending: PendingMemories) -> Generator[Read[Any], Any, list[Memory]]:
    """The memories that hold at that time and may have one of these terms; new ones are all looked at."""
    hashes = tuple(dict.fromkeys(term_hash(stem) for term in terms for stem in term.stems))
    stored = yield from read(MemoriesWith(hashes, at))
    return [memory for memory in (*pending.now(stored), *pending.new.values()) if memory.holds(at)]


def _end(said: SaidEnding, memory: Memory, pending: PendingMemories) -> Generator[Read[Any], Any, Memory | None]:
    """Ends one memory; returns the memory that ended it."""
    pending.outdate(memory, said.source)
    if isinstance(memory.content, Fact):
        if pending.ended_by(memory, said.source):
            return None
        ending = said.as_memory("fact", memory.content.key)
        return ending if (yield from pending.supersede(ending)) else None
    same = (one for one in pending.new.values() if one.kind == memory.kind and said.source in one.derived_from)
    ending = next((one for one in same if one.text in said.ending.text), None) or _kept(said.as_memory(memory.kind), pending)
    pending.end(EndMemory(id=memory.id, at=said.said_at, superseded_by=ending.id))
    return ending


def _kept(memory: Memory, pending: PendingMemories) -> Memory:
    pending.put(memory)
    return memory
