"""Extracted: what rules find in a message, the memory that is made of it, and the memories that a plan is about to store.

An extracted memory says so in its provenance.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from germane.extraction.memories.endings import Ending, RestatingTerm
from germane.extraction.memories.statements import Correction, canonical_key, same_keys
from germane.kinds.memories.plans import new_memory, place_fact
from germane.kinds.memories.reads import EndMemory, FactsOnKey, PutConflict, PutMemory
from germane.kinds.memories.value import Fact, Memory
from germane.types.candidate import Provenance, Sensitivity
from germane.types.plan import Change, Read, read
from germane.types.scope import Scope

RULES_VERSION = 1
"""Of the rules, written into each memory's provenance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """`kind` is behavior, preference, fact or episode. `text` is the message's own words or, of a fact, its value; `key` is a
    fact's name. `share` is the fraction of the message's characters that the statement takes."""

    kind: str
    text: str
    rule: str
    confidence: float
    key: str = ""
    share: float = 1.0
    condition: bool = False
    """Whether an instruction holds only in some case, such as "when I ask about dates"."""


class MessageReading(NamedTuple):
    """What a message says: what it states, what it ends and corrects, and by which words it may restate something."""

    stated: tuple[Extracted, ...] = ()
    endings: tuple[Ending, ...] = ()
    corrections: tuple[Correction, ...] = ()
    restating: tuple[RestatingTerm, ...] = ()


def is_extracted(memory: Memory) -> bool:
    """Whether rules, or a language model, found the memory in a message."""
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
    so that it is as old as what was said; its key is the common one of those that mean the same. Raises `InvalidInput` for a
    text or a key that a memory can't have."""
    given: dict[str, Any] = {"confidence": confidence, "sensitivity": sensitivity}
    if kind == "fact":
        given |= {"key": canonical_key(key), "observed_at": said_at}
    if kind == "episode":
        given |= {"occurred_at": said_at}
    memory = new_memory(
        text, kind=kind, scope=scope, now=said_at, provenance=provenance, given={**given, "valid_from": said_at}
    )
    return replace(memory, derived_from=(source,))


# A plan decides on one statement after another; each sees the stored memories as those before it leave them.


class PendingMemories:
    """`new` are the memories that will be stored, by id. A conflict is only recorded with what was stated on purpose, or with
    what can't be decided."""

    def __init__(self) -> None:
        self.new: dict[str, Memory] = {}
        self._behind: list[Memory] = []
        self._ended: dict[str, EndMemory] = {}
        self._conflicts: list[PutConflict] = []
        self.outdated: set[tuple[str, str]] = set()
        """Ids of messages, each with that of a later one that ended what it states."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """What is to be written."""
        return (*map(PutMemory, (*self.new.values(), *self._behind)), *self._ended.values(), *self._conflicts)

    def now(self, stored: Iterable[Memory]) -> list[Memory]:
        """The stored memories as they will be with what was decided so far."""
        return [
            replace(memory, valid_to=self._ended[memory.id].at, superseded_by=self._ended[memory.id].superseded_by)
            if memory.id in self._ended
            else memory
            for memory in stored
        ]

    def put(self, memory: Memory) -> None:
        self.new[memory.id] = memory

    def put_behind(self, memory: Memory, first: Memory) -> None:
        """Puts a memory that says what `first` says, and waits behind it: superseded by it in the moment in which it begins, so
        that it never holds. When `first` is forgotten with its message, a store lets it take the place."""
        self._behind.append(replace(memory, valid_to=memory.valid_from, superseded_by=first.id))

    def end(self, change: EndMemory) -> None:
        """Ends a memory, stored or new. It stays, as one that has ended."""
        if change.id in self.new:
            self.new[change.id] = replace(self.new[change.id], valid_to=change.at, superseded_by=change.superseded_by)
        else:
            self._ended[change.id] = change

    def ended_by(self, memory: Memory, source: str) -> bool:
        """Whether something that this message states has ended the memory already."""
        (now,) = self.now((self.new.get(memory.id, memory),))
        by = self.new.get(now.superseded_by or "")
        return by is not None and source in by.derived_from

    def outdate(self, memory: Memory, source: str) -> None:
        """Notes that the message `source` ended what those messages state that the memory was made from."""
        self.outdated.update((older, source) for older in memory.derived_from if older != source)

    def doubt(self, conflict: PutConflict) -> None:
        """Records a conflict for a person to decide."""
        self._conflicts.append(conflict)

    def timeline(self, key: str, at: datetime) -> Generator[Read[Any], Any, list[Memory]]:
        """The facts with this key, or with one that means the same, that haven't ended by `at`, by their beginning. Yields the
        reads."""
        keys = same_keys(key)
        stored: list[Memory] = []
        for one in keys:
            stored += yield from read(FactsOnKey(one, at))
        line = [
            *self.now(stored),
            *(one for one in self.new.values() if isinstance(one.content, Fact) and one.content.key in keys),
        ]
        return sorted((fact for fact in line if fact.valid_to is None or fact.valid_from < fact.valid_to), key=_begin)

    def supersede(self, memory: Memory) -> Generator[Read[Any], Any, bool]:
        """Puts a fact into the timeline of its key, unless something that was stated on purpose holds there. Yields the reads;
        returns whether it was put."""
        assert isinstance(memory.content, Fact)
        line = yield from self.timeline(memory.content.key, memory.valid_from)
        if any(not is_extracted(fact) and fact.holds(memory.valid_from) for fact in line):
            return False
        for change in place_fact(memory, line).changes:
            if isinstance(change, PutMemory):
                self.put(change.memory)
            elif isinstance(change, EndMemory):
                self.end(change)
        return True


def _begin(fact: Memory) -> datetime:
    return fact.valid_from
