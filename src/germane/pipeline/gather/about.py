"""About: the source of everything that is stored about one name: what is known now, what was known before, and who said it.

Deliberately not a search by likeness: what doesn't name the person or thing isn't about it, however near its words are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from germane.events.event import Event
from germane.memories.memory import Fact, Memory
from germane.pipeline.gather.candidates import from_event, from_memory
from germane.pipeline.gather.source import Skipped
from germane.search.hit import Found
from germane.store import ScopedStore
from germane.text.normal import fold
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["EARLIER", "AboutSource", "names_one"]

EARLIER = "earlier"
"""The category of what no longer holds."""
_UNSPACED = range(0x2E80, 0xD7A4)
"""Letters of scripts that put no spaces between words, and neighbours of them."""
T = TypeVar("T", Memory, Event)


class AboutSource:
    """Offers, as required, the memories that hold at the time asked about and name one of `names`; those that ended, with their
    dates, in the category `earlier`; and the messages that name one or were said by one. `names` are folded."""

    def __init__(self, store: ScopedStore, names: Sequence[str]) -> None:
        self._store, self._names = store, names

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if not self._names:
            raise Skipped("no_name")
        asked = replace(query, filters=replace(query.filters, with_history=True), min_relevance=0.0, price=0.0)
        said_by_then = replace(asked, filters=query.said_by_then)
        memories, events = await asyncio.gather(
            self._store.memories.search(asked, plan.limit, keywords=True, vectors=True, wait=True),
            self._store.events.search(said_by_then, plan.limit, keywords=True, vectors=True, wait=True),
        )
        known = [
            self._known(memory, evidence, query)
            for memory, evidence in _hits(memories)
            if memory.valid_from <= query.at and self._is_named(memory.text)
        ]
        said = [
            from_event(event, plan.name, evidence, at=query.at)
            for event, evidence in _hits(events)
            if fold(event.name) in self._names or self._is_named(event.text)
        ]
        return [*known, *said]

    def _is_named(self, text: str) -> bool:
        return names_one(text, self._names)

    def _known(self, memory: Memory, evidence: Evidence, query: Query) -> Candidate:
        ends = min((end for end in (memory.valid_to, memory.expires_at) if end is not None), default=None)
        candidate = replace(from_memory(memory, "about", evidence), text=_stated(memory))
        if ends is None or query.at < ends:
            return replace(candidate, required=True)
        until = "" if ends is None else f" to {ends:%Y-%m-%d}"
        return replace(candidate, category=EARLIER, text=f"{candidate.text} ({memory.valid_from:%Y-%m-%d}{until})")


def names_one(text: str, names: Sequence[str]) -> bool:
    """Whether `text` holds one of the folded `names` as whole words; in scripts without spaces, anywhere."""
    folded = fold(text)
    return any(_stands_alone(folded, name) for name in names)


def _stands_alone(text: str, name: str) -> bool:
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if _ends_word(text[start - 1 : start], name[0]) and _ends_word(text[end : end + 1], name[-1]):
            return True
        start = text.find(name, end)
    return False


def _ends_word(beside: str, edge: str) -> bool:
    return not beside.isalnum() or not edge.isalnum() or ord(edge) in _UNSPACED or ord(beside) in _UNSPACED


def _stated(memory: Memory) -> str:
    """The memory's text. A fact's key is written as words: `caroline.home city` says whose it is."""
    if isinstance(memory.content, Fact):
        return memory.text.replace(".", " ", memory.content.key.count("."))
    return memory.text


def _hits(found: Found[T]) -> Iterator[tuple[T, Evidence]]:
    return ((hit.thing, hit.evidence) for hit in found.hits)
