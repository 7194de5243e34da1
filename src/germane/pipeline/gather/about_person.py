"""About person: who `me` is in a scope, whatever word or name the person is asked for by, and what the scope holds of them.

A scope has one user, and `me` is that user. Where several people speak under one user, the one whose name is the user's is
`me`; where none is, `me` are all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from germane.events.event import Event
from germane.memories.extraction.extracted import is_extracted
from germane.memories.memory import Fact, Memory
from germane.store import ScopedStore
from germane.text.normal import fold
from germane.types.query import Filters, Query

__all__ = ["Person", "is_oneself", "own_of", "person_asked_for"]

_LOOKED_AT = 1000
"""Latest messages among which people, and their messages, are looked for."""
_SPEAKER = "user"
"""Whose a fact of an unnamed speaker is: the part of its key before the dot, and the role of a message."""
_NAMES = ("user.name", "user.called")
"""The facts that tell the user's name."""
_WORDS = """
    i, me, myself, me myself, ich, mich, ich selbst, je, moi, moi-même, yo, mí, yo mismo, yo misma, io,
    me stesso, me stessa, eu, mim, eu mesmo, eu mesma, ik, mij, mezelf, mijzelf, jag, mig, mig själv, jeg, meg, mig selv,
    meg selv, minä, minut, minua, minusta, kendim, beni, bana, ja, mnie, o mnie, despre mine, eu însumi, saya, aku,
    saya sendiri, én, engem, magam, rólam, já, mě, mne, tôi, я, меня, мне, обо мне, мене, про мене, εγώ, εμένα, من, مرا, أنا,
    نفسي, אני, मैं, मुझे, நான், ես, 我, 我自己, 本人, 私, わたし, 僕, 俺, 自分, 나, 저, 나를, ฉัน, ผม
"""
_ONESELF = frozenset(fold(word).strip() for word in _WORDS.split(","))
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
    said, told = await asyncio.gather(_said_here(store, seen), store.memories.pinned(_NAMES, (), at=at, filters=seen))
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
        store.memories.list(replace(filters, with_history=True), at=query.at, limit=limit),
        store.events.page(query.said_by_then, limit=_LOOKED_AT, whole=False, typed=False),
    )
    known = tuple(one for one in page.memories if _is_own_memory(one, person, user))
    own = (one for one in said.messages if one.user == user and one.role == _SPEAKER and fold(one.name) not in person.others)
    return known, tuple(islice(own, limit))


async def _said_here(store: ScopedStore, filters: Filters) -> Sequence[Event]:
    """The latest messages that were said under the scope's own user, in the user's role."""
    page = await store.events.page(filters, limit=_LOOKED_AT, whole=False, typed=False)
    return [one for one in page.messages if one.user == store.scope.user and one.role == _SPEAKER]


def _given_name(memory: Memory) -> str:
    content = memory.content
    return content.value if isinstance(content, Fact) and content.key in _NAMES and isinstance(content.value, str) else ""


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
    if not dot or whose == _SPEAKER or whose in {fold(one) for one in (*person.names, *person.people)} - person.others:
        return True
    return whose not in person.others and not is_extracted(memory)
