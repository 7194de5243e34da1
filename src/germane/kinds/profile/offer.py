"""Offer: reads what may stand in a scope's profile and makes lines of it, for assemblies and for those who look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from germane.kinds.events.reads import SeenEvents
from germane.kinds.inventory import AllowedIds
from germane.kinds.memories.reads import ListMemories, SeenMemories
from germane.kinds.memories.value import Memory, written_line
from germane.kinds.profile.lines import clause_line, lines_said_by, memory_line, worth_order
from germane.kinds.profile.reads import (
    ChatsWithAssistant,
    LineMarks,
    StillHolding,
    TellingClauses,
    ToldClause,
    parse_clause_name,
    thing_of,
)
from germane.kinds.profile.telling import TellingClause, telling_clauses
from germane.types.candidate import INSTRUCTION, ProfileLine
from germane.types.query import Filters, Query

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from germane.kinds.events.value import Event
    from germane.kinds.profile.value import Mark
    from germane.stores.contract import ScopedStore


MAX_OFFERED = 40
"""Lines of each sort that are offered unless a strategy says otherwise. Whoever looks at a profile is shown what an assembly
chooses among."""
_READ_FACTOR = 4
"""Clauses that are read, as a multiple of the lines that may be offered: many say the same, or too little."""
_RULE = "behavior"
_KINDS = (_RULE, "fact", "preference")


class OfferedLine(NamedTuple):
    """A line, and what it is of."""

    line: ProfileLine
    thing: Memory | ToldClause


class OfferedLines(NamedTuple):
    """The lines that may stand, the worthiest first; and those that the scope's user hid, with what says the same."""

    lines: Sequence[OfferedLine]
    hidden: Sequence[OfferedLine]


async def offered_lines(store: ScopedStore, query: Query, limit: int) -> OfferedLines:
    """Returns at most `limit` lines of each sort. A user's profile has the agent-wide instructions too, and nothing else that
    isn't the user's own. What somebody with a name said is only a line where an assistant took part: people who talk with one
    another demand nothing of it."""
    filters, at = query.filters, query.at
    kinds = _KINDS if filters.kinds is None else tuple(kind for kind in _KINDS if kind in filters.kinds)
    clauses, page, marks = await asyncio.gather(
        store.ask(TellingClauses(_READ_FACTOR * limit, filters=query.said_by_then)),
        store.ask(ListMemories(replace(filters, kinds=kinds), at=at, limit=limit)),
        store.ask(LineMarks()),
    )
    memories = page.memories
    if page.cursor is not None and _RULE in kinds:  # newer memories mustn't push an instruction out
        rules = await store.ask(ListMemories(replace(filters, kinds=(_RULE,)), at=at, limit=limit))
        memories = (*memories, *rules.memories)
    read = {*(clause.line for clause in clauses), *(memory.id for memory in memories)}
    if beyond := [line for line, mark in marks.items() if mark == "pin" and line not in read]:
        more = await _pinned(store, beyond[:limit], query)
        clauses, memories = (*clauses, *more.clauses), (*memories, *more.memories)
    shown, hidden = dict[str, OfferedLine](), dict[str, OfferedLine]()
    falls = await _fallen(store, memories, marks, query.at)
    lines = [one for one in _lines(clauses, memories, marks, query, store.scope.user) if one.line.id not in falls]
    named = {session for one in lines if (session := _named_in(one.thing)) is not None}
    chats = await store.ask(ChatsWithAssistant(named)) if named else frozenset[str]()
    for one in lines:
        if (session := _named_in(one.thing)) is not None and session not in chats:
            continue
        (hidden if marks.get(one.line.id) == "hide" else shown)[one.line.id] = one
    for line in lines_said_by([one.line for one in hidden.values()], [one.line for one in shown.values()]):
        hidden[line.id] = shown.pop(line.id)
    return OfferedLines(_worthiest(shown, limit), _worthiest(hidden, limit))


async def _fallen(store: ScopedStore, memories: Iterable[Memory], marks: Mapping[str, Mark], at: datetime) -> frozenset[str]:
    """The ids of those memories whose lines fall: a line that a language model wrote in place of others stands while all that
    it was made of holds. Where a part has ended or changed, or was hidden or pinned, the parts stand by themselves again. Reads
    the messages of the parts, where there are any."""
    parts = [(memory, replaces) for memory in memories if (replaces := written_line(memory).replaces)]
    if not parts:
        return frozenset()
    holding = await store.ask(StillHolding(frozenset(chain.from_iterable(_messages_of(names) for _, names in parts)), at))

    def stands(memory: Memory, names: Sequence[str]) -> bool:
        return memory.stale_since is None and holding >= _messages_of(names) and not any(name in marks for name in names)

    return frozenset(memory.id for memory, names in parts if not stands(memory, names))


def _messages_of(names: Iterable[str]) -> frozenset[str]:
    """The messages of those names that are of clauses."""
    return frozenset(clause[0] for name in names if (clause := parse_clause_name(name)) is not None)


def _named_in(thing: Memory | ToldClause) -> str | None:
    """The session in which somebody with a name said this; None for what has no such name."""
    if isinstance(thing, ToldClause):
        return thing.session if thing.speaker else None
    return thing.provenance.session if thing.provenance.speaker else None


class _Pinned(NamedTuple):
    clauses: Sequence[ToldClause]
    memories: Sequence[Memory]


async def _pinned(store: ScopedStore, lines: Sequence[str], query: Query) -> _Pinned:
    """What these pinned lines are of, where it may be shown and passes the filters: no more was read of all others."""
    filters = query.said_by_then
    allowed = await store.ask(AllowedIds(lines, query.at, filters))
    named = [line for line in lines if line in allowed]
    memories, events = await asyncio.gather(
        store.ask(SeenMemories(named)), store.ask(SeenEvents([*dict.fromkeys(map(thing_of, named))]))
    )
    holding = await store.ask(StillHolding({event.id for event in events}, query.at))
    told = [_told(event, clause) for event in events if event.id in holding for clause in telling_clauses(event.text)]
    return _Pinned(
        [clause for clause in told if clause.line in allowed and _passes(clause.created_at, filters)],
        [memory for memory in memories if _passes(memory.created_at, filters) and memory.kind in (filters.kinds or _KINDS)],
    )


def _told(event: Event, clause: TellingClause) -> ToldClause:
    return ToldClause(
        id=event.id,
        start=clause.start,
        end=clause.end,
        text=event.text[clause.start : clause.end],
        rule=clause.rule,
        matters=clause.matters,
        session=event.session,
        created_at=event.created_at,
        speaker=event.name,
        message_id=event.message_id,
        sensitivity=event.sensitivity,
        content_hash=event.content_hash,
    )


def _passes(at: datetime, filters: Filters) -> bool:
    return (filters.since is None or filters.since <= at) and (filters.until is None or at <= filters.until)


def _lines(
    clauses: Sequence[ToldClause], memories: Sequence[Memory], marks: Mapping[str, Mark], query: Query, user: str | None
) -> Iterator[OfferedLine]:
    for memory in memories:
        line = memory_line(memory, marks.get(memory.id), query.at)
        if line is not None and (memory.user == user or line.kind == INSTRUCTION):
            yield OfferedLine(line, memory)
    for clause in clauses:
        line = clause_line(clause, marks.get(clause.line), query.at)
        if line is not None:
            yield OfferedLine(line, clause)


def _worthiest(found: Mapping[str, OfferedLine], limit: int) -> list[OfferedLine]:
    return [found[line.id] for line in worth_order([one.line for one in found.values()])[:limit]]
