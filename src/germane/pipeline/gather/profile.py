"""Profile source: the lines that may stand in the prompt whatever the request is: standing instructions, and what holds about
the person (PERSON-1). Which of them do is decided with their tokens (`profile_stage.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from germane.memories.memory import Memory
from germane.pipeline.gather.candidates import from_memory
from germane.profile.offered import OfferedLine, offered_lines
from germane.store import ScopedStore
from germane.types.candidate import Candidate, Provenance
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["PROFILE", "ProfileSource"]

PROFILE = "profile"


class ProfileSource:
    """Offers at most as many lines as its plan allows, the worthiest first."""

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        offered = await offered_lines(self._store, query, plan.limit)
        return [_candidate(one, place) for place, one in enumerate(offered.lines)]


def _candidate(one: OfferedLine, place: int) -> Candidate:
    line, thing = one
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
