"""Offered: reads what may stand in a scope's profile and makes lines of it, for assemblies and for those who look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from germane.memories.memory import Memory
from germane.profile.choose import said_by
from germane.profile.line import clause_line, memory_line, worth_order
from germane.profile.reader import ToldClause
from germane.types.profile_line import INSTRUCTION, ProfileLine
from germane.types.query import Query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from germane.profile.marking import Mark
    from germane.store import ScopedStore

__all__ = ["OfferedLine", "OfferedLines", "offered_lines"]

_READ = 4
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
    isn't the user's own."""
    filters, at = query.filters, query.at
    kinds = _KINDS if filters.kinds is None else tuple(kind for kind in _KINDS if kind in filters.kinds)
    clauses, page, marks = await asyncio.gather(
        store.profile.clauses(_READ * limit, filters=query.said_by_then),
        store.memories.list(replace(filters, kinds=kinds), at=at, limit=limit),
        store.profile.marks(),
    )
    memories = page.memories
    if page.cursor is not None and _RULE in kinds:  # newer memories mustn't push an instruction out
        rules = await store.memories.list(replace(filters, kinds=(_RULE,)), at=at, limit=limit)
        memories = (*memories, *rules.memories)
    shown, hidden = dict[str, OfferedLine](), dict[str, OfferedLine]()
    for one in _lines(clauses, memories, marks, query, store.scope.user):
        (hidden if marks.get(one.line.id) == "hide" else shown)[one.line.id] = one
    for line in said_by([one.line for one in hidden.values()], [one.line for one in shown.values()]):
        hidden[line.id] = shown.pop(line.id)
    return OfferedLines(_worthiest(shown, limit), _worthiest(hidden, limit))


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
