"""Profile source: the lines that may stand in the prompt whatever the request is: standing instructions, and what holds about
the person (PERSON-1). Which of them do is decided with their tokens (`profile_stage.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from germane.memories.memory import Memory
from germane.pipeline.gather.candidates import from_memory
from germane.profile.line import clause_line, memory_line, worth_order
from germane.profile.marking import Mark
from germane.profile.reader import ToldClause
from germane.store import ScopedStore
from germane.types.candidate import Candidate, Provenance
from germane.types.evidence import Evidence
from germane.types.profile_line import INSTRUCTION, ProfileLine
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["PROFILE", "ProfileSource"]

PROFILE = "profile"
_READ = 4
"""Clauses that are read, as a multiple of the lines that may be offered: many say the same, or too little."""
_KINDS = ("behavior", "fact", "preference")


class ProfileSource:
    """Offers at most as many lines as its plan allows, the worthiest first. A user's profile has the agent-wide instructions
    too, and nothing else that isn't the user's own."""

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        store, filters = self._store, query.said_by_then
        wanted = filters.kinds
        kinds = _KINDS if wanted is None else tuple(kind for kind in _KINDS if kind in wanted)
        clauses, page, marks = await asyncio.gather(
            store.profile.clauses(_READ * plan.limit, filters=filters),
            store.memories.list(replace(query.filters, kinds=kinds), at=query.at, limit=plan.limit),
            store.profile.marks(),
        )
        found: dict[str, tuple[ProfileLine, Memory | ToldClause]] = {}
        for line, thing in _lines(clauses, page.memories, marks, query, store.scope.user):
            found[line.id] = line, thing
        ordered = worth_order([line for line, _ in found.values()])[: plan.limit]
        return [_candidate(line, found[line.id][1], place) for place, line in enumerate(ordered)]


def _lines(
    clauses: Sequence[ToldClause], memories: Sequence[Memory], marks: Mapping[str, Mark], query: Query, user: str | None
) -> Iterator[tuple[ProfileLine, Memory | ToldClause]]:
    for memory in memories:
        line = memory_line(memory, marks.get(memory.id), query.at)
        if line is not None and (memory.user == user or line.kind == INSTRUCTION):
            yield line, memory
    for clause in clauses:
        line = clause_line(clause, marks.get(clause.line), query.at)
        if line is not None:
            yield line, clause


def _candidate(line: ProfileLine, thing: Memory | ToldClause, place: int) -> Candidate:
    if isinstance(thing, Memory):
        return from_memory(thing, PROFILE, Evidence(), position=place)._replace(line=line)
    return Candidate(
        id=line.id,
        source=PROFILE,
        category=line.kind,
        text=line.text,
        created_at=line.said_at,
        kinds=(line.kind,),
        sensitivity=thing.sensitivity,
        speaker=thing.speaker,
        role="user",
        position=place,
        content_hash=thing.shown_hash,
        provenance=Provenance(session=thing.session, message_id=thing.message_id, refs=(thing.id,)),
        line=line,
    )
