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
from germane.pipeline.gather.about_graph import EntitiesOfName, mentions_of, relations_of
from germane.pipeline.gather.about_person import Person, own_of
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
    """Offers, as required, the memories and relations that hold at the time asked about and name one of the names or are the
    entities' own; those that ended, with their dates, in the category `earlier`; and the messages that name or mention one,
    or were said by one. Of a `person` also what is theirs without naming them: the user's own memories and messages."""

    def __init__(self, store: ScopedStore, named: EntitiesOfName, person: Person | None = None) -> None:
        self._store, self._named, self._names, self._person = store, named, named.folded, person

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if self._person is None and not any(self._names):
            raise Skipped("no_name")
        asked = replace(query, filters=replace(query.filters, with_history=True), min_relevance=0.0, price=0.0)
        said_by_then = replace(asked, filters=query.said_by_then)
        memories, events, relations, mentions = await asyncio.gather(
            self._store.memories.search(asked, plan.limit, keywords=True, vectors=True, wait=True),
            self._store.events.search(said_by_then, plan.limit, keywords=True, vectors=True, wait=True),
            relations_of(self._store, self._named.entities, query, EARLIER),
            mentions_of(self._store, self._named.entities, query, plan.limit),
        )
        mentioned = frozenset(mentions)
        known = [
            self._known(memory, evidence, query)
            for memory, evidence in _hits(memories)
            if memory.valid_from <= query.at and (memory.id in mentioned or self._is_named(memory.text))
        ]
        said = [
            from_event(event, plan.name, evidence, at=query.at)
            for event, evidence in _hits(events)
            if event.id in mentioned or fold(event.name) in self._names or self._is_named(event.text)
        ]
        seen = {one.id for one in (*known, *said)}
        own = [one for one in await self._own(query, plan) if one.id not in seen]
        seen.update(one.id for one in own)
        found = [*known, *relations, *said, *own]
        return [*found, *await self._mentioned([id for id in mentions if id not in seen], query, plan)]

    async def _own(self, query: Query, plan: SourcePlan) -> list[Candidate]:
        """What is the person's own, whether it names them or not."""
        if self._person is None:
            return []
        memories, messages = await own_of(self._store, self._person, query, plan.limit)
        known = [self._known(one, Evidence(), query) for one in memories if one.valid_from <= query.at]
        return known + [from_event(event, plan.name, Evidence(), at=query.at) for event in messages]

    async def _mentioned(self, ids: Sequence[str], query: Query, plan: SourcePlan) -> list[Candidate]:
        """What mentions an entity, and no search found."""
        if not ids:
            return []
        filters = query.said_by_then
        memories, events = await asyncio.gather(self._store.memories.get(ids), self._store.events.get(ids))
        known = [self._known(one, Evidence(), query) for one in memories if one.valid_from <= query.at]
        return known + [
            from_event(event, plan.name, Evidence(), at=query.at)
            for event in events
            if (filters.until is None or event.created_at <= filters.until)
            and (filters.since is None or event.created_at >= filters.since)
            and event.message_id not in filters.exclude
        ]

    def _is_named(self, text: str) -> bool:
        return names_one(text, self._names)

    def _known(self, memory: Memory, evidence: Evidence, query: Query) -> Candidate:
        ends = min((end for end in (memory.valid_to, memory.expires_at) if end is not None), default=None)
        candidate = from_memory(memory, "about", evidence)._replace(text=_stated(memory))
        if ends is None or query.at < ends:
            return candidate._replace(required=True)
        until = "" if ends is None else f" to {ends:%Y-%m-%d}"
        return candidate._replace(category=EARLIER, text=f"{candidate.text} ({memory.valid_from:%Y-%m-%d}{until})")


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
