"""About: the source of all that is stored about one name: what holds now, what held before, and who said it.

Deliberately not a search by likeness: what doesn't name the person or thing isn't about it, however near its words are.

A scope has one user, and `me` is that user. If several people speak under one user, the one whose name is the user's is `me`;
if none has that name, `me` are all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

from germane.extraction.memories.extracted import is_extracted
from germane.kinds.events.reads import ListEvents, SeenEvents
from germane.kinds.events.value import Event
from germane.kinds.graph.aliases import SHORT, name_key
from germane.kinds.graph.reads import ListEntities, MentionsOf, RelationsOf, SeenEntities, SeenNamed
from germane.kinds.graph.value import Entity, Relation, valid
from germane.kinds.memories.reads import ListMemories, PinnedMemories, SeenMemories
from germane.kinds.memories.value import Fact, Memory
from germane.stages.gather.candidates import from_event, from_memory
from germane.stages.gather.graph import from_relation, lacks_what_is_filtered
from germane.stages.gather.source import Skipped
from germane.stores.contract import ScopedStore
from germane.text.normal import fold
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence, Found
from germane.types.query import Filters, Query
from germane.types.strategy import SourcePlan

EARLIER = "earlier"
"""The category of what no longer holds."""
_UNSPACED_LETTERS = range(0x2E80, 0xD7A4)
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
        asked = replace(query, filters=replace(query.filters, with_ended=True), min_relevance=0.0, price=0.0)
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
        memories, events = await asyncio.gather(self._store.ask(SeenMemories(ids)), self._store.ask(SeenEvents(ids)))
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
        candidate = from_memory(memory, "about", evidence)._replace(text=_stated_text(memory))
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
    return not beside.isalnum() or not edge.isalnum() or ord(edge) in _UNSPACED_LETTERS or ord(beside) in _UNSPACED_LETTERS


def _stated_text(memory: Memory) -> str:
    """The memory's text. A fact's key is written as words: `caroline.home city` says whose it is."""
    if isinstance(memory.content, Fact):
        return memory.text.replace(".", " ", memory.content.key.count("."))
    return memory.text


def _hits(found: Found[T]) -> Iterator[tuple[T, Evidence]]:
    return ((hit.thing, hit.evidence) for hit in found.hits)


# What the graph says of one name: the entities that have it, their other names, relations and mentions.


_MAX_ENTITIES, _MAX_NAMES, _MAX_RELATIONS = 8, 16, 100
"""Entities of one name, names of all of them that are looked for, and relations of one entity, the heaviest."""
_RELATION_PRIOR = 1.0
"""P(relevant) of a certain relation of the entity that was asked about."""
_MAX_LIKE_NAMES, _LIKE_CHARS = 100, 2
"""Names that are offered for comparison, and characters of the beginning that they share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitiesOfName:
    """The entities that one name stands for, and all their names as they are written, the one asked about first."""

    entities: tuple[Entity, ...] = ()
    names: tuple[str, ...]

    @property
    def folded(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(" ".join(fold(name).split()) for name in self.names))


async def entities_named(store: ScopedStore, name: str, filters: Filters) -> EntitiesOfName:
    """Returns the entities that have this name or alias; where there are none, the one entity that it is the short form of. A
    short form of several stands for none of them."""
    key = name_key(name)
    found = await store.ask(SeenNamed([key], filters=filters, limit=_MAX_ENTITIES)) if key else ()
    if key and not found:
        found = await store.ask(SeenNamed([f"{SHORT}{key}"], filters=filters, limit=2))
        found = found if len(found) == 1 else ()
    names = dict.fromkeys([name, *(one for entity in found for one in (entity.name, *entity.aliases))])
    return EntitiesOfName(entities=tuple(found), names=tuple(names)[:_MAX_NAMES])


async def relations_of(store: ScopedStore, entities: Sequence[Entity], query: Query, ended: str) -> list[Candidate]:
    """Returns the relations of these entities, each once, that began by the time asked about: those that hold then are
    required; the others have the category `ended`, and their dates in the text."""
    filters = query.filters
    if not entities or lacks_what_is_filtered(filters):
        return []
    read = await asyncio.gather(
        *(store.ask(RelationsOf(one.id, at=None, limit=_MAX_RELATIONS, filters=filters)) for one in entities)
    )
    relations = {one.id: one for each in read for one in each if one.valid_from <= query.at and one.id not in filters.exclude}
    ends = dict.fromkeys(id for one in relations.values() for id in (one.source, one.target))
    known = {one.id: one for one in await store.ask(SeenEntities(list(ends)))}
    found = list[Candidate]()
    for one in relations.values():
        source, target = known.get(one.source), known.get(one.target)
        if source is None or target is None:
            continue
        candidate = from_relation(one, source, target, depth=0, likely=_RELATION_PRIOR)
        if candidate.sensitivity in filters.sensitivities:
            found.append(_stated_relation(candidate, one, query, ended))
    return found


def _stated_relation(candidate: Candidate, relation: Relation, query: Query, ended: str) -> Candidate:
    if valid(relation, query.at):
        return candidate._replace(source="about", required=True)
    until = "" if relation.valid_to is None else f" to {relation.valid_to:%Y-%m-%d}"
    text = f"{candidate.text} ({relation.valid_from:%Y-%m-%d}{until})"
    return candidate._replace(source="about", category=ended, text=text)


async def mentions_of(store: ScopedStore, entities: Sequence[Entity], query: Query, limit: int) -> tuple[str, ...]:
    """Returns the ids of at most `limit` events and memories that mention one of these entities. Empty where the filters use a
    field that mentions don't have."""
    if lacks_what_is_filtered(query.filters):
        return ()
    until = query.said_by_then.until
    read = await asyncio.gather(*(store.ask(MentionsOf(one.id, limit=limit, before=until)) for one in entities))
    return tuple(dict.fromkeys(id for each in read for id in each if id not in query.filters.exclude))[:limit]


async def like_names(store: ScopedStore, name: str, filters: Filters) -> tuple[str, ...]:
    """Returns names of entities that begin like this one."""
    beginning = name_key(name)[:_LIKE_CHARS]
    page = await store.ask(ListEntities(filters, prefix=beginning, limit=_MAX_LIKE_NAMES))
    return tuple(entity.name for entity in page.entities)


# Who `me` is in a scope, whatever word or name the person is asked for by, and what the scope holds of them.


_MAX_MESSAGES = 1000
"""Latest messages among which people, and their messages, are looked for."""
_USER = "user"
"""Whose a fact of an unnamed speaker is: the part of its key before the dot, and the role of a message."""
_NAME_FACTS = ("user.name", "user.called")
"""The facts that tell the user's name."""
_SELF_WORDS = """
    i, me, myself, me myself, ich, mich, ich selbst, je, moi, moi-même, yo, mí, yo mismo, yo misma, io,
    me stesso, me stessa, eu, mim, eu mesmo, eu mesma, ik, mij, mezelf, mijzelf, jag, mig, mig själv, jeg, meg, mig selv,
    meg selv, minä, minut, minua, minusta, kendim, beni, bana, ja, mnie, o mnie, despre mine, eu însumi, saya, aku,
    saya sendiri, én, engem, magam, rólam, já, mě, mne, tôi, я, меня, мне, обо мне, мене, про мене, εγώ, εμένα, من, مرا, أنا,
    نفسي, אני, मैं, मुझे, நான், ես, 我, 我自己, 本人, 私, わたし, 僕, 俺, 自分, 나, 저, 나를, ฉัน, ผม
"""
_ONESELF = frozenset(fold(word).strip() for word in _SELF_WORDS.split(","))
"""Words for oneself. Those that are first names or places as well, such as Turkish `ben`, are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """The user of a scope. `names` are theirs as they are written, the id of the user first; `people` those who speak in the
    scope's own messages; `others`, folded, those of `people` who are somebody else."""

    names: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()


def is_oneself(name: str) -> bool:
    """Whether a name is a word for oneself in one of many languages. Capitals within it make it a name, as in `EU`."""
    word = " ".join(name.split())
    return fold(word) in _ONESELF and word[1:] == word[1:].lower()


async def person_asked_for(
    store: ScopedStore, name: str | None, *, taken: bool, at: datetime, filters: Filters
) -> Person | None:
    """Returns the user of the scope if `name` means them: None, a word for oneself, the user's id, the name that the user gave,
    or the name of the only person who speaks here. None where it means anybody else. `taken`: somebody or something has the
    name, so that it is no word for oneself."""
    seen = Filters(sensitivities=filters.sensitivities)
    said, told = await asyncio.gather(_said_here(store, seen), store.ask(PinnedMemories(_NAME_FACTS, (), at=at, filters=seen)))
    user, people = store.scope.user, tuple(dict.fromkeys(event.name for event in said if event.name))
    given = tuple(_given_name(one) for one in told if one.user == user and _given_name(one))
    known = {fold(one) for one in (*given, user or "") if one}
    mine = tuple(one for one in people if fold(one) in known or len(people) == 1)
    names = tuple(dict.fromkeys(one for one in (user, *mine, *given) if one))
    if name is not None and not (is_oneself(name) and not taken) and not _is_called(name, names, given):
        return None
    others = frozenset(fold(one) for one in people if one not in mine) if mine else frozenset()
    return Person(names=names, people=people, others=others)


async def own_of(store: ScopedStore, person: Person, query: Query, limit: int) -> tuple[tuple[Memory, ...], tuple[Event, ...]]:
    """Returns what is known of the person, ended memories too, and the latest messages that they wrote, at most `limit` each,
    the newest first."""
    user, filters = store.scope.user, query.filters
    page, said = await asyncio.gather(
        store.ask(ListMemories(replace(filters, with_ended=True), at=query.at, limit=limit)),
        store.ask(ListEvents(query.said_by_then, limit=_MAX_MESSAGES, whole=False, typed=False)),
    )
    known = tuple(one for one in page.memories if _is_own_memory(one, person, user))
    own = (one for one in said.messages if one.user == user and one.role == _USER and fold(one.name) not in person.others)
    return known, tuple(islice(own, limit))


async def _said_here(store: ScopedStore, filters: Filters) -> Sequence[Event]:
    """The latest messages that were said under the scope's own user, in the user's role."""
    page = await store.ask(ListEvents(filters, limit=_MAX_MESSAGES, whole=False, typed=False))
    return [one for one in page.messages if one.user == store.scope.user and one.role == _USER]


def _given_name(memory: Memory) -> str:
    content = memory.content
    return content.value if isinstance(content, Fact) and content.key in _NAME_FACTS and isinstance(content.value, str) else ""


def _is_called(name: str, names: Sequence[str], given: Sequence[str]) -> bool:
    """Whether a name is one of theirs, or the first word of one that they gave."""
    key = " ".join(fold(name).split())
    first = (one.split()[0] for one in given if one.split())
    return bool(key) and key in {" ".join(fold(one).split()) for one in (*names, *first)}


def _is_own_memory(memory: Memory, person: Person, user: str | None) -> bool:
    """Whether a memory of the user's is about the user: another speaker didn't say it, and its key names nobody else."""
    if memory.user != user or fold(memory.provenance.speaker) in person.others:
        return False
    if not isinstance(memory.content, Fact):
        return True
    whose, dot, _ = memory.content.key.partition(".")
    whose = fold(whose).replace("-", " ").strip()
    if not dot or whose == _USER or whose in {fold(one) for one in (*person.names, *person.people)} - person.others:
        return True
    return whose not in person.others and not is_extracted(memory)
